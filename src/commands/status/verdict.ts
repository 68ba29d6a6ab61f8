/** How a warehouse is, in one line: whether the last runs were complete, how long ago, and what to do if they were not. */
import { EXIT_CODES, type ExitCode, worseOf } from '../../base/errors.js'
import { counted, cutInMiddle, humanAge } from '../../base/human.js'
import { printable } from '../../model/data-problem-names.js'
import { type Instant, instantToMs } from '../../model/instant.js'
import type { WarehouseStatus } from '../../warehouse/status.js'
import type { Colour } from '../text/text-table.js'

export const VERDICT_COLOURS = {
  ok: 'green',
  partial: 'yellow',
  late: 'yellow',
  failed: 'red',
} as const satisfies Record<string, Colour>

export interface Verdict {
  readonly state: keyof typeof VERDICT_COLOURS
  readonly exitCode: ExitCode
  readonly text: string
}

/** The worst of the accounts. */
export const verdictOf = (syncs: WarehouseStatus['syncs'], nowMs: number, maxAgeMs: number): Verdict => {
  const verdicts = syncs.map((sync) =>
    verdictOfAccount(sync, syncs.length === 1 ? '' : ` (account ${sync.account})`, nowMs, maxAgeMs),
  )
  const nothing: Verdict = {
    state: 'late',
    exitCode: EXIT_CODES.partial,
    text: 'LATE: no sync has ended yet',
  }
  return verdicts.reduce((worst, one) => (isWorse(one, worst) ? one : worst), verdicts[0] ?? nothing)
}

/** An account is late if it had no complete run for `maxAgeMs`, unless its last run failed. */
const verdictOfAccount = (
  { exit_code, reason, surveys_refreshed, ended_at, complete_at }: WarehouseStatus['syncs'][number],
  name: string,
  nowMs: number,
  maxAgeMs: number,
): Verdict => {
  const ageOf = (at: Instant): number => nowMs - instantToMs(at)
  const ago = (at: Instant): string => humanAge(ageOf(at))
  const why = reason === null ? 'no reason is recorded' : shortReason(reason)
  const exitCode = Object.values(EXIT_CODES).find((code) => code === exit_code) ?? EXIT_CODES.bug
  const isPartial = exitCode === EXIT_CODES.partial
  if (exitCode !== EXIT_CODES.complete && !isPartial)
    return {
      state: 'failed',
      exitCode,
      text: `FAILED ${ago(ended_at)}${name}: ${why}; next: ${NEXT[exitCode]}`,
    }
  if (complete_at === null || Math.abs(ageOf(complete_at)) > maxAgeMs) {
    const isFuture = complete_at !== null && ageOf(complete_at) < 0
    const ended =
      complete_at === null ? 'no run was complete yet' : `the last complete run ended ${ago(complete_at)}`
    const since = isFuture
      ? 'the last complete run is dated in the future: check the clock of its machine'
      : ended
    const last = isPartial ? `; the last run: ${why}` : ''
    return { state: 'late', exitCode: EXIT_CODES.partial, text: `LATE${name}: ${since}${last}` }
  }
  if (isPartial) return { state: 'partial', exitCode, text: `PARTIAL ${ago(ended_at)}${name}: ${why}` }
  const read = counted(surveys_refreshed ?? 0, 'survey')
  return { state: 'ok', exitCode, text: `OK: the last run was complete, ${read} read, ${ago(ended_at)}` }
}

const isWorse = (one: Verdict, other: Verdict): boolean =>
  one.exitCode === other.exitCode
    ? one.state === 'late' && other.state === 'partial'
    : worseOf(one.exitCode, other.exitCode) === one.exitCode

/** On one line. Its end stays, because it says what to do. */
export const shortReason = (reason: string): string => cutInMiddle(printable(reason), REASON_WIDTH_MAX)

const REASON_WIDTH_MAX = 300

/** What to do after a failed run. The reason before it names what to correct, if that is known. */
const NEXT: Readonly<
  Record<Exclude<ExitCode, typeof EXIT_CODES.complete | typeof EXIT_CODES.partial>, string>
> = {
  [EXIT_CODES.bug]: 'report it with the log of that run',
  [EXIT_CODES.usage]: 'correct the settings, then run fieldwork-sync check',
  [EXIT_CODES.upstream]: 'correct that, then run fieldwork-sync check',
  [EXIT_CODES.data]: 'fieldwork-sync status lists the rejected rows and the drift',
  [EXIT_CODES.held]: 'run fieldwork-sync sync again when the other run has ended',
  [EXIT_CODES.warehouse]: 'correct that, then run fieldwork-sync check',
}
