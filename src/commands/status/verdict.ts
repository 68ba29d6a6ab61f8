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

type Sync = WarehouseStatus['syncs'][number]

/**
 * The worst of the accounts that the settings file names. Without such names, or if none of them has been synced yet, as with the name
 * of an environment that is not here, the worst of all.
 */
export const verdictOf = (
  all: readonly Sync[],
  accountNames: readonly string[],
  nowMs: number,
  maxAgeMs: number,
): Verdict => {
  const named = all.filter(({ account }) => accountNames.includes(account))
  const syncs = named.length === 0 ? all : named
  const unread = named.length === 0 ? [] : accountNames.filter((name) => !isAmong(name, named))
  const hasNames = syncs.length + unread.length > 1
  const nameOf = (account: string) => (hasNames ? ` (account ${account})` : '')
  const verdicts = [
    ...syncs.map((sync) => verdictOfAccount(sync, nameOf(sync.account), nowMs, maxAgeMs)),
    ...unread.map((account) => neverEnded(nameOf(account))),
  ]
  const worst = verdicts.reduce(
    (found, one) => (isWorse(one, found) ? one : found),
    verdicts[0] ?? neverEnded(''),
  )
  if (worst.state === 'ok') return { ...worst, text: okText(syncs, nowMs) }
  const others = verdicts.filter(({ state }) => state !== 'ok').length - 1
  const more =
    others <= 0 ? '' : `; ${counted(others, 'other account')} ${others === 1 ? 'is' : 'are'} not OK`
  return { ...worst, text: `${worst.text}${more}` }
}

const isAmong = (name: string, syncs: readonly Sync[]) => syncs.some(({ account }) => account === name)

const neverEnded = (name: string): Verdict => ({
  state: 'late',
  exitCode: EXIT_CODES.partial,
  text: `LATE${name}: no sync has ended yet`,
})

const okText = (syncs: readonly Sync[], nowMs: number): string => {
  const read = counted(
    syncs.reduce((sum, { surveys_refreshed }) => sum + (surveys_refreshed ?? 0), 0),
    'survey',
  )
  const runs = syncs.length === 1 ? 'the last run was' : `the last runs of all ${syncs.length} accounts were`
  const ages = syncs.map(({ ended_at }) => nowMs - instantToMs(ended_at))
  return `OK: ${runs} complete, ${read} read, ${humanAge(Math.max(...ages))}`
}

/** An account is late if it had no complete run for `maxAgeMs`, unless its last run failed. */
const verdictOfAccount = (
  { exit_code, reason, ended_at, complete_at }: Sync,
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
      text: `FAILED ${ago(ended_at)}${name}: ${why}; next: ${NEXT[exitCode] ?? 'correct that, then run fieldwork-sync check'}`,
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
  return { state: 'ok', exitCode, text: 'OK' }
}

const isWorse = (one: Verdict, other: Verdict): boolean =>
  one.exitCode === other.exitCode
    ? one.state === 'late' && other.state === 'partial'
    : worseOf(one.exitCode, other.exitCode) === one.exitCode

/** On one line, without the query of an address. Its end stays, because it says what to do. */
export const shortReason = (reason: string): string =>
  cutInMiddle(printable(reason).replaceAll(/(GET \S+?)\?\S+/g, '$1'), REASON_WIDTH_MAX)

const REASON_WIDTH_MAX = 300

/** What to do after a failed run, if it is not what most need: the reason before it names what to correct. */
const NEXT: Readonly<Partial<Record<ExitCode, string>>> = {
  [EXIT_CODES.bug]: 'report it with the log of that run',
  [EXIT_CODES.usage]: 'correct the settings, then run fieldwork-sync check',
  [EXIT_CODES.data]: 'fieldwork-sync status lists the rejected rows and the drift',
  [EXIT_CODES.held]: 'run fieldwork-sync sync again when the other run has ended',
}
