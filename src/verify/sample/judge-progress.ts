/**
 * Judges progress, which moves without `updated_at`. The number of interviews that had started before our reading cannot grow afterwards.
 * So the service's present count of these interviews shows whether our reading was right. Their statuses may change: an incomplete
 * interview becomes complete. The answers are requested one by one, only as far as needed.
 */

import { sum } from 'd3-array'
import { z } from 'zod'
import { SECOND_MS } from '../../base/durations.js'
import { counted } from '../../base/human.js'
import { columnsOf } from '../../model/columns.js'
import {
  INTERVIEW_STATUSES,
  type InterviewStatus,
  PROGRESS_FIELDS,
  type Progress,
} from '../../model/fields.js'
import { formatInstant, type Instant, instantFromMs, minusMs } from '../../model/instant.js'
import type { CellRow } from '../../model/warehouse.js'
import { type Difference, differencesOf, EQUAL, EXTRA, type Judgement, judged } from './verdict.js'

/**
 * The rules of the API document about the fields of one progress answer: totals and formulas ("Fieldwork progress"). A service may round,
 * or count in its own way. So a stored row is judged by a formula only if the present answer of the service satisfies it. Pure.
 */

const numberOf = (row: CellRow, field: string): number | null => {
  const cell = row[field]
  return typeof cell === 'number' ? cell : null
}

const individuals = (row: CellRow, status: InterviewStatus): number | null =>
  numberOf(row, `${status}_individuals`)

/** The interviews of all statuses, including statuses that are only in `_extra`; null if the service leaves a count out. */
export const totalOf = (row: CellRow): number | null => {
  const [known, others] = [sumOf(row, INTERVIEW_STATUSES), unknownStatuses(row[EXTRA])]
  return known === null || others === null ? null : known + others
}

const unknownStatuses = (extra: CellRow[string] | undefined): number | null => {
  if (typeof extra !== 'string') return 0
  const { success, data } = countsInExtra.safeParse(JSON.parse(extra))
  return success
    ? sum(Object.values(data.interview_count_by_status).map((status) => status.individuals))
    : null
}

const countsInExtra = z.object({
  interview_count_by_status: z.record(z.string(), z.object({ individuals: z.number() })).default({}),
})

const COUNTS: readonly string[] = INTERVIEW_STATUSES.map((status) => `${status}_individuals`)

const haveSameCounts = (a: CellRow, b: CellRow): boolean =>
  COUNTS.every((name) => a[name] === b[name]) && a[EXTRA] === b[EXTRA]

interface Formula {
  readonly field: keyof Progress
  /** The value by the counts of the row; null if a count is missing. */
  readonly of: (row: CellRow) => number | null
  /** By default the tolerance of a rate. */
  readonly tolerance?: number
}

const sumOf = (row: CellRow, statuses: readonly InterviewStatus[]): number | null => {
  const counts = statuses.map((status) => individuals(row, status))
  return counts.includes(null) ? null : sum(counts.map(Number))
}

/** Null for a division by zero, which the API document does not define. */
const ratio = (part: number | null, whole: number | null): number | null =>
  part === null || whole === null || whole === 0 ? null : part / whole

/** A service that rounds to two digits stays within it. */
const RATE_TOLERANCE = 0.006

const complete = (row: CellRow) => individuals(row, 'complete')
const targetIncidence = (row: CellRow) => ratio(complete(row), sumOf(row, ['complete', 'screen_out']))

const FORMULAS: readonly Formula[] = [
  { field: 'interviews_count', of: complete, tolerance: 0 },
  { field: 'completion_rate', of: (row) => ratio(complete(row), numberOf(row, 'sample_size')) },
  {
    field: 'questionnaire_incidence_rate',
    of: (row) => ratio(complete(row), sumOf(row, ['complete', 'screen_out', 'quota_full', 'incomplete'])),
  },
  { field: 'target_incidence_rate', of: targetIncidence },
  { field: 'incidence_rate', of: targetIncidence },
  { field: 'drop_out_rate', of: (row) => ratio(individuals(row, 'incomplete'), totalOf(row)) },
  ...INTERVIEW_STATUSES.map((status): Formula => {
    const of: Formula['of'] = (row) => {
      const fraction = ratio(individuals(row, status), totalOf(row))
      return fraction === null ? null : 100 * fraction
    }
    return { field: `${status}_percentage`, of, tolerance: 100 * RATE_TOLERANCE }
  }),
]

/** The fields of the stored row that contradict its own counts, although the present answer of the service satisfies the same formula. */
export const brokenFormulas = (stored: CellRow, service: CellRow): readonly Difference[] =>
  FORMULAS.flatMap((formula) => {
    if (keeps(service, formula) !== true || keeps(stored, formula) !== false) return []
    return [{ field: formula.field, stored: numberOf(stored, formula.field), service: formula.of(stored) }]
  })

/** Whether the row satisfies the formula; null if a value is missing. */
const keeps = (row: CellRow, { field, of, tolerance = RATE_TOLERANCE }: Formula): boolean | null => {
  const [stored, expected] = [numberOf(row, field), of(row)]
  return stored === null || expected === null ? null : Math.abs(stored - expected) <= tolerance
}

export const PROGRESS_COLUMNS = columnsOf(PROGRESS_FIELDS)

interface ProgressQuestion {
  /** Null if the warehouse has no row. */
  readonly stored: CellRow | null
  /** When the stored row was read, server time; null if unknown. */
  readonly readAt: Instant | null
  /** Whether `readAt` is the time of exactly this reading. Sources are read up to some minutes after their survey. */
  readonly isReadAtExact: boolean
  /** The present answer. */
  readonly service: CellRow
  readonly serviceReadAt: Instant
  /** Why a difference is expected; null if it is not. */
  readonly waitsFor: string | null
  /** How late changes may show in the service, which is the overlap of listings. */
  readonly slackMs: number
  /** Whether interviews of the past may be added, as imported data. */
  readonly mayGain: boolean
  /** Whether since then a source has come, come back or gone, with its interviews. */
  readonly haveSourcesChanged: boolean
  /** Whether nothing has changed the target since the reading, according to the service. Called only if the target differs. */
  readonly isTargetKnown: () => Promise<boolean>
  /** The present progress of the interviews that started up to a moment; null if it cannot be typed. */
  readonly until: (at: Instant) => Promise<CellRow | null>
}

/** Times of answers are whole seconds. */

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

/** The target is the sum of the targets of the sources, so it cannot have changed unless one of these has. */
const wrongTarget = async ({ isTargetKnown }: ProgressQuestion, differences: readonly Difference[]) => {
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
  if (
    control === null ||
    !haveSameCounts(control, service) ||
    derivedDifferences(control, service).length > 0
  )
    return judged('unclear', 'the service computes indicators of a period in another way', differences)
  const why = `the service says something else of the interviews up to ${formatInstant(readAt)}`
  return judged('wrong', why, derived)
}

const derivedDifferences = (stored: CellRow, service: CellRow): readonly Difference[] =>
  differencesOf(PROGRESS_COLUMNS, stored, service).filter(({ field }) => !OF_TARGET.includes(field))

/** Fields that depend on the target, which changes without interviews. */
const OF_TARGET: readonly string[] = ['sample_size', 'completion_rate', EXTRA]

const SOURCES_CHANGED = 'a source has come or gone since, with its interviews'

/** Judges a stored row with fewer interviews than had started when it was read. */
const judgeMissing = async (known: Known, storedTotal: number, differences: readonly Difference[]) => {
  const { stored, readAt, slackMs, mayGain, haveSourcesChanged, until } = known
  const before = await until(minusMs(readAt, slackMs))
  const total = before === null ? null : totalOf(before)
  if (before === null || total === null)
    return judged('unclear', 'the API leaves numbers of interviews out', differences)
  if (storedTotal >= total) return judged('moved', 'interviews have started since', differences)
  const lacking = `${counted(total - storedTotal, 'interview')} missing that had started before it was read at ${formatInstant(readAt)}`
  if (haveSourcesChanged) return judged('moved', SOURCES_CHANGED, differences)
  if (mayGain) return judged('unclear', `${lacking}; imported data may have added them`, differences)
  const late = `${lacking}; but the service does not count up to a moment, or counts late`
  if (!(await countsInTime(known))) return judged('unclear', late, differences)
  return judged('wrong', lacking, differencesOf(PROGRESS_COLUMNS, stored, before))
}

/** Whether the present answer satisfies the rule that the stored row breaks. If the service counts late now, it also did when we read. */
const countsInTime = async ({ service, serviceReadAt, slackMs, until }: Known): Promise<boolean> => {
  const [never, lately] = [await until(0n), await until(minusMs(serviceReadAt, slackMs))]
  const [none, late, now] = [never, lately, service].map((row) => (row === null ? null : totalOf(row)))
  return none === 0 && typeof late === 'number' && typeof now === 'number' && late <= now
}

/** Judges a stored row with more interviews than had started when it was read, according to the service. */
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
  const why = `${storedTotal - thenTotal} interviews that were counted no longer are: they may be ignored since`
  return judged('unclear', why, differences)
}
