/** The state of a warehouse in one line: how the last run of each account ended, how long ago, and what to do if it was not complete. */
import { EXIT_CODES, type ExitCode, nextStep, worseOf } from '../../base/errors.js'
import { counted, cutInMiddle, humanAge, humanDuration } from '../../base/human.js'
import { printable } from '../../model/data-problem-names.js'
import { type Instant, instantToMs } from '../../model/instant.js'
import type { LastRun, LastRuns } from '../../storage/last-run.js'
import type { WarehouseStatus } from '../../warehouse/status.js'
import type { Colour } from '../text/text-table.js'

export const VERDICT_COLOURS = {
  ok: 'green',
  partial: 'yellow',
  late: 'yellow',
  interrupted: 'red',
  failed: 'red',
} as const satisfies Record<string, Colour>

export interface Verdict {
  readonly state: keyof typeof VERDICT_COLOURS
  readonly exitCode: ExitCode
  readonly text: string
  /** What to do next. */
  readonly next: string
}

type Sync = WarehouseStatus['syncs'][number]

interface VerdictBasis {
  /** The accounts that the settings file names. */
  readonly accountNames: readonly string[]
  readonly runs: LastRuns
  readonly nowMs: number
  readonly maxAgeMs: number
}

/**
 * The worst verdict of the accounts that the settings file names. If it names none, or none of its accounts has been synced yet, because
 * their names come from another environment, the worst of all accounts. The record of the last run beside the published state counts, if
 * the published state does not show that run.
 */
export const verdictOf = (all: readonly Sync[], basis: VerdictBasis): Verdict => {
  const { accountNames, nowMs, maxAgeMs } = basis
  const named = all.filter(({ account }) => accountNames.includes(account))
  const syncs = named.length === 0 ? all : named
  const unread = named.length === 0 ? [] : accountNames.filter((name) => !isAmong(name, named))
  const hasNames = syncs.length + unread.length > 1
  const nameOf = (account: string) => (hasNames ? ` (account ${account})` : '')
  const { last, running } = basis.runs
  const unshown = last === null || isShown(last, all) ? null : last
  const counts = (account: string) => unshown === null || !unshown.accounts.includes(account)
  const verdicts = [
    ...(unshown === null ? [] : [verdictOfUnshown(unshown, syncs, nowMs, maxAgeMs)]),
    ...syncs
      .filter(({ account }) => counts(account))
      .map((sync) => verdictOfAccount(sync, nameOf(sync.account), nowMs, maxAgeMs)),
    ...unread.filter(counts).map((account) => neverEnded(nameOf(account))),
  ]
  const worst = verdicts.reduce(
    (worstSoFar, verdict) => (isWorse(verdict, worstSoFar) ? verdict : worstSoFar),
    verdicts[0] ?? neverEnded(''),
  )
  const text = worst.state === 'ok' ? okText(syncs, nowMs) : `${worst.text}${othersText(verdicts)}`
  const begun = running === null ? '' : humanAge(nowMs - instantToMs(running.startedAt))
  return { ...worst, text: running === null ? text : `${text}; a run is under way, which began ${begun}` }
}

/**
 * Whether the published state shows how the run ended, also if the end could not be recorded. The state may be an older one: a format that
 * this run left out, or a backup. In a bucket, a run publishes before its end.
 */
const isShown = ({ isPublished, endedAt, runId, accounts }: LastRun, syncs: readonly Sync[]): boolean =>
  (isPublished || endedAt === null) &&
  accounts.every((name) =>
    syncs.some(
      ({ account, run_id, exit_code }) => account === name && run_id === runId && exit_code !== null,
    ),
  )

const isAmong = (name: string, syncs: readonly Sync[]) => syncs.some(({ account }) => account === name)

const START_ONE = 'look why the job did not run, or start it: fieldwork-sync sync'
const AFTER_A_KILL =
  'look why it was killed (kubectl describe pod, or the log of the machine), and start it again: fieldwork-sync sync'

const neverEnded = (name: string): Verdict => ({
  state: 'late',
  exitCode: EXIT_CODES.partial,
  text: `LATE${name}: no sync has ended yet`,
  next: START_ONE,
})

const okText = (syncs: readonly Sync[], nowMs: number): string => {
  const read = counted(
    syncs.reduce((sum, { surveys_refreshed }) => sum + (surveys_refreshed ?? 0), 0),
    'survey',
  )
  const runs = syncs.length === 1 ? 'the last run was' : `the last runs of all ${syncs.length} accounts were`
  const ages = syncs.map(({ ended_at, complete_at }) => nowMs - instantToMs(complete_at ?? ended_at))
  return `OK: ${runs} complete, ${read} read, ${humanAge(Math.max(...ages))}`
}

const othersText = (verdicts: readonly Verdict[]): string => {
  const others = verdicts.filter(({ state }) => state !== 'ok').length - 1
  return others <= 0 ? '' : `; ${counted(others, 'other account')} ${others === 1 ? 'is' : 'are'} not OK`
}

/** A run whose end the published state does not show: it could not publish, was killed, or published another state than this one. */
const verdictOfUnshown = (run: LastRun, syncs: readonly Sync[], nowMs: number, maxAgeMs: number): Verdict => {
  const ago = (at: Instant): string => when(nowMs - instantToMs(at))
  if (run.endedAt === null || run.exitCode === null)
    return interrupted(` ${ago(run.seenAt)}`, ago(run.startedAt))
  const own = syncs.filter(({ account }) => run.accounts.includes(account))
  const ends = own.map(({ complete_at }) => complete_at)
  const why = run.reason ?? 'no reason is recorded'
  const sync = {
    exit_code: run.exitCode,
    reason: run.isPublished ? why : `not published (exit ${run.exitCode}): ${why}`,
    error_code: run.errorCode,
    ended_at: run.endedAt,
    complete_at: ends.reduce(
      (first, at) => (first === null || at === null || at < first ? at : first),
      ends[0] ?? null,
    ),
  }
  return verdictOfAccount(sync, '', nowMs, maxAgeMs)
}

/** The clocks of two machines may differ by this much. */
const CLOCKS_MS_MAX = 600_000

/** How long ago, or that the clock of the run's machine is ahead of ours. */
const when = (ageMs: number): string =>
  ageMs < -CLOCKS_MS_MAX ? `${humanDuration(-ageMs)} ahead of this clock` : humanAge(Math.max(0, ageMs))

/** `what`: when the run was last seen, or the name of its account. */
const interrupted = (what: string, began: string): Verdict => ({
  state: 'interrupted',
  exitCode: EXIT_CODES.partial,
  text: `INTERRUPTED${what}: killed, or its machine went down; the run began ${began} and left no end; next: ${AFTER_A_KILL}`,
  next: AFTER_A_KILL,
})

/** An account is late if it had no complete run for `maxAgeMs`, unless its last run failed. */
const verdictOfAccount = (
  {
    exit_code,
    reason,
    error_code,
    ended_at,
    complete_at,
  }: Omit<Sync, 'run_id' | 'account' | 'surveys_refreshed'>,
  name: string,
  nowMs: number,
  maxAgeMs: number,
): Verdict => {
  const ageOf = (at: Instant): number => nowMs - instantToMs(at)
  if (exit_code === null) return interrupted(name, when(ageOf(ended_at)))
  const why = reason === null ? 'no reason is recorded' : shortReason(reason)
  const exitCode = Object.values(EXIT_CODES).find((code) => code === exit_code) ?? EXIT_CODES.bug
  const isPartial = exitCode === EXIT_CODES.partial
  const next = nextStep(exitCode, error_code)
  if (exitCode !== EXIT_CODES.complete && !isPartial)
    return {
      state: 'failed',
      exitCode,
      text: `FAILED ${when(ageOf(ended_at))}${name}: ${why}; next: ${next}`,
      next,
    }
  const isFuture = complete_at !== null && ageOf(complete_at) < -CLOCKS_MS_MAX
  if (complete_at === null || isFuture || ageOf(complete_at) > maxAgeMs) {
    const ended =
      complete_at === null
        ? 'no run was complete yet'
        : `the last complete run ended ${humanAge(ageOf(complete_at))}`
    const since = isFuture
      ? `the last complete run is dated in the future (${humanAge(ageOf(complete_at))}): check the clock of its machine`
      : ended
    const last = isPartial ? `; the last run: ${why}` : ''
    return {
      state: 'late',
      exitCode: EXIT_CODES.partial,
      text: `LATE${name}: ${since}${last}`,
      next: isPartial ? next : START_ONE,
    }
  }
  if (isPartial)
    return { state: 'partial', exitCode, text: `PARTIAL ${when(ageOf(ended_at))}${name}: ${why}`, next }
  return { state: 'ok', exitCode, text: 'OK', next }
}

/** This order decides between verdicts with the same exit code. */
const ORDER: readonly Verdict['state'][] = ['ok', 'partial', 'late', 'interrupted', 'failed']

const isWorse = (a: Verdict, b: Verdict): boolean =>
  a.exitCode === b.exitCode
    ? ORDER.indexOf(a.state) > ORDER.indexOf(b.state)
    : worseOf(a.exitCode, b.exitCode) === a.exitCode

/** The reason on one line, without the query of an address. The end of the reason stays, because it says what to do. */
export const shortReason = (reason: string): string =>
  cutInMiddle(printable(reason).replaceAll(QUERY, '$1'), REASON_WIDTH_MAX)

/** Punctuation after an address, such as a colon, does not belong to its query. */
const QUERY = /(GET \S+?)\?\S*?(?=[:;,.)]*(?:\s|$))/g

const REASON_WIDTH_MAX = 600
