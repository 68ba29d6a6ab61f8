/**
 * Judges progress, which moves without `updated_at`. The number of interviews that had started before our reading cannot grow
 * afterwards. So the service's count of these interviews, of now, shows whether our reading was right. Their statuses may move:
 * an incomplete interview becomes complete. The answers are requested one by one, only as far as needed.
 */
import { counted } from '../../base/human.js'
import { columnsOf } from '../../model/columns.js'
import { PROGRESS_FIELDS } from '../../model/fields.js'
import { formatInstant, type Instant, instantFromMs, minusMs } from '../../model/instant.js'
import type { CellRow } from '../../model/warehouse.js'
import { brokenFormulas, haveSameCounts, totalOf } from './indicators.js'
import { type Difference, differencesOf, EQUAL, EXTRA, type Judgement, judged } from './verdict.js'

export const PROGRESS_COLUMNS = columnsOf(PROGRESS_FIELDS)

interface ProgressQuestion {
  /** Null if the warehouse has no row. */
  readonly stored: CellRow | null
  /** When the stored row was read, server time; null if it is not known. */
  readonly readAt: Instant | null
  /** Whether `readAt` is that of this very reading. Sources are read after their survey, by up to some minutes. */
  readonly isReadAtExact: boolean
  /** The answer of now. */
  readonly service: CellRow
  readonly serviceReadAt: Instant
  /** Why a difference is known; null if it is not. */
  readonly waitsFor: string | null
  /** How late changes may show in the service: the overlap of listings. */
  readonly slackMs: number
  /** Whether interviews of the past may enter: imported data. */
  readonly mayGain: boolean
  /** Whether a source has come, come back or gone since, with its interviews. */
  readonly haveSourcesChanged: boolean
  /** Whether nothing has changed the target since the reading, as the service says now. Asked only if the target differs. */
  readonly isTargetKnown: () => Promise<boolean>
  /** The progress of the interviews that started up to a moment, as the service says now; null if it cannot be typed. */
  readonly until: (at: Instant) => Promise<CellRow | null>
}

/** Times of answers are whole seconds. */
const SECOND_MS = 1_000

export const judgeProgress = async (question: ProgressQuestion): Promise<Judgement> => {
  const { stored, service, readAt, waitsFor, serviceReadAt } = question
  const differences = differencesOf(PROGRESS_COLUMNS, stored, service)
  if (differences.length === 0) return EQUAL
  if (waitsFor !== null) return judged('waiting', waitsFor, differences)
  if (stored === null) return judged('wrong', 'it was read, but the warehouse does not have it', differences)
  const contradictions = brokenFormulas(stored, service)
  if (contradictions.length > 0)
    return judged('wrong', 'the stored row contradicts itself, and the service does not', contradictions)
  const target = await wrongTarget(question, differences)
  if (target !== null) return target
  if (differences.every(({ field }) => field === EXTRA))
    return judged('unclear', 'the API may have added unknown fields since', differences)
  if (readAt === null || readAt > serviceReadAt)
    return judged('unclear', 'the time of its reading is not known', differences)
  return await judgeCounts({ ...question, stored, readAt }, differences)
}

/** The target is the sum of the targets of the sources. Unless one of these has changed, it cannot have moved. */
const wrongTarget = async (
  { isTargetKnown }: ProgressQuestion,
  differences: readonly Difference[],
): Promise<Judgement | null> => {
  const target = differences.filter(({ field }) => field === 'sample_size')
  return target.length === 0 || !(await isTargetKnown())
    ? null
    : judged('wrong', 'neither the survey nor a source has changed since it was read', target)
}

type Known = ProgressQuestion & { readonly stored: CellRow; readonly readAt: Instant }

const judgeCounts = async (known: Known, differences: readonly Difference[]): Promise<Judgement> => {
  const { stored, service, serviceReadAt, readAt, until } = known
  const storedTotal = totalOf(stored)
  const then = await until(readAt + instantFromMs(SECOND_MS))
  const thenTotal = then === null ? null : totalOf(then)
  if (storedTotal === null || then === null || thenTotal === null)
    return judged('unclear', 'the API leaves numbers of interviews out', differences)
  if (storedTotal < thenTotal) return await judgeMissing(known, storedTotal, differences)
  if (storedTotal > thenTotal) return judgeVanished(known, storedTotal, thenTotal, differences)
  if (!haveSameCounts(stored, then))
    return judged('moved', 'the same interviews, and statuses of some have changed since', differences)
  const derived = derivedDifferences(stored, then)
  if (derived.length === 0) return judged('moved', 'interviews have started since', differences)
  const control = await until(serviceReadAt + instantFromMs(SECOND_MS))
  return control !== null &&
    haveSameCounts(control, service) &&
    derivedDifferences(control, service).length === 0
    ? judged(
        'wrong',
        `the service says something else of the interviews up to ${formatInstant(readAt)}`,
        derived,
      )
    : judged('unclear', 'the service computes indicators of a period in another way', differences)
}

const derivedDifferences = (stored: CellRow, service: CellRow): readonly Difference[] =>
  differencesOf(PROGRESS_COLUMNS, stored, service).filter(({ field }) => !OF_TARGET.includes(field))

/** These depend on the target, which moves without interviews. */
const OF_TARGET: readonly string[] = ['sample_size', 'completion_rate', EXTRA]

const SOURCES_CHANGED = 'a source has come or gone since, with its interviews'

/** The stored row has fewer interviews than had started when it was read. */
const judgeMissing = async (
  known: Known,
  storedTotal: number,
  differences: readonly Difference[],
): Promise<Judgement> => {
  const { stored, readAt, slackMs, mayGain, haveSourcesChanged, until } = known
  const before = await until(minusMs(readAt, slackMs))
  const total = before === null ? null : totalOf(before)
  if (before === null || total === null)
    return judged('unclear', 'the API leaves numbers of interviews out', differences)
  if (storedTotal >= total) return judged('moved', 'interviews have started since', differences)
  const lacking = `${counted(total - storedTotal, 'interview')} missing that had started before it was read at ${formatInstant(readAt)}`
  if (haveSourcesChanged) return judged('moved', SOURCES_CHANGED, differences)
  if (mayGain) return judged('unclear', `${lacking}; imported data may have added them`, differences)
  if (!(await countsInTime(known)))
    return judged(
      'unclear',
      `${lacking}; but the service does not count up to a moment, or counts late`,
      differences,
    )
  return judged('wrong', lacking, differencesOf(PROGRESS_COLUMNS, stored, before))
}

/** Whether the service keeps the rule now that the stored row breaks: a service that answers late did so when we read, too. */
const countsInTime = async ({ service, serviceReadAt, slackMs, until }: Known): Promise<boolean> => {
  const [never, lately] = [await until(0n), await until(minusMs(serviceReadAt, slackMs))]
  const [none, late, now] = [never, lately, service].map((row) => (row === null ? null : totalOf(row)))
  return none === 0 && typeof late === 'number' && typeof now === 'number' && late <= now
}

/** The stored row has more interviews than the service says that had started when it was read. */
const judgeVanished = (
  { service, isReadAtExact, haveSourcesChanged }: Known,
  storedTotal: number,
  thenTotal: number,
  differences: readonly Difference[],
): Judgement => {
  const now = totalOf(service)
  if (!isReadAtExact && now !== null && storedTotal <= now)
    return judged('moved', 'interviews have started since', differences)
  if (haveSourcesChanged) return judged('moved', SOURCES_CHANGED, differences)
  return judged(
    'unclear',
    `${storedTotal - thenTotal} interviews that were counted no longer are: they may be ignored since`,
    differences,
  )
}
