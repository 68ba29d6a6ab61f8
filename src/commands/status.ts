/** What `status` prints: the published state, or only the requests of the last runs by reason and kind. */
import { systemClock } from '../base/clock.js'
import { EXIT_CODES, type ExitCode, worseOf } from '../base/errors.js'
import { counted, humanCount, humanDuration } from '../base/human.js'
import { onOneLine } from '../model/data-problem-names.js'
import { formatInstant, type Instant, instantToMs } from '../model/instant.js'
import { REQUEST_KINDS, REQUEST_REASONS, type RequestUsage } from '../model/request-usage.js'
import { terminalFeatures } from '../settings/environment.js'
import { parseDuration } from '../settings/readers.js'
import type { Settings } from '../settings/settings.js'
import { readLastRequestUsage, readWarehouseStatus, type StatusHead } from '../storage/open.js'
import type { RunRequestUsage } from '../warehouse/history/runs.js'
import type { WarehouseStatus } from '../warehouse/status.js'
import type { CliContext } from './context.js'
import { usageError } from './flags.js'
import { jsonOf } from './text/json.js'
import { REQUEST_USAGE_WORDS } from './text/run-lines.js'
import { painted, textTable } from './text/text-table.js'

interface StatusFlags {
  /** Print only the verdict, and exit with its code. */
  readonly check?: boolean | undefined
  readonly 'max-age'?: string | undefined
}

/** A night, and two hours for a run that takes longer than the one before. */
const MAX_AGE = '26h'

export const showStatus = async (
  { signal, print, exit, stdout, env }: CliContext,
  settings: Settings,
  { check = false, 'max-age': maxAge = MAX_AGE }: StatusFlags,
): Promise<void> => {
  const maxAgeMs = parseDuration(maxAge)
  if (maxAgeMs === null) throw usageError('--max-age must be a duration, such as 26h', 'status')
  const { head, status } = await readWarehouseStatus(settings, signal)
  const { syncs, ...shown } = status
  const verdict = verdictOf(syncs, systemClock.nowMs(), maxAgeMs)
  if (check) exit(verdict.exitCode)
  if (settings.json) return void (await print(`${jsonOf({ verdict, ...head, ...shown })}\n`))
  const { state, text } = verdict
  const line = terminalFeatures(env, stdout).colour ? painted(text, COLOURS[state]) : text
  await print(check ? `${line}\n` : `${line}\n\n${renderStatus(head, shown)}\n`)
}

const COLOURS = { ok: 'green', partial: 'yellow', late: 'red', failed: 'red' } as const

interface Verdict {
  readonly state: keyof typeof COLOURS
  readonly exitCode: ExitCode
  readonly text: string
}

/** The worst of the accounts. */
const verdictOf = (syncs: WarehouseStatus['syncs'], nowMs: number, maxAgeMs: number): Verdict => {
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
  const ago = (at: Instant): string => `${humanDuration(ageOf(at))} ago`
  const why = reason ?? 'no reason is recorded'
  const exitCode = Object.values(EXIT_CODES).find((code) => code === exit_code) ?? EXIT_CODES.bug
  const isPartial = exitCode === EXIT_CODES.partial
  if (exitCode !== EXIT_CODES.complete && !isPartial)
    return { state: 'failed', exitCode, text: `FAILED ${ago(ended_at)}${name}: ${why}` }
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

const renderStatus = (head: StatusHead, status: Omit<WarehouseStatus, 'syncs'>): string =>
  [
    `${head.published}, published ${formatInstant(head.publishedAt)}${head.holder === null ? '' : `\nheld by ${head.holder}`}`,
    section(
      'last runs',
      ['started', 'account', 'ended', 'exit', 'requests', 'refreshed', 'left over'],
      status.runs.flatMap(({ started_at, account, status: ended, ...run }) => [
        [started_at, account, ended, run.exit_code, run.requests, run.surveys_refreshed, run.left_over],
        ...(run.reason === null ? [] : [[`  ${run.reason}`]]),
      ]),
    ),
    section(
      'cursor',
      ['account', 'next listing from', 'last full listing'],
      status.cursors.map((row) => [row.account, row.updated_since, row.full_listed_at]),
    ),
    section(
      'queue',
      ['account', 'reason', 'surveys', 'failing', 'oldest'],
      status.queue.map((row) => [row.account, row.reason, row.tasks, row.failing, row.oldest_at]),
      'empty',
    ),
    section(
      'surveys that could not be read',
      ['account', 'survey', 'title', 'tried'],
      status.failing.flatMap((row) => [
        [row.account, String(row.survey_id), onOneLine(row.title ?? ''), counted(row.attempts, 'time')],
        [`  ${onOneLine(row.error)}`],
      ]),
      null,
    ),
    section(
      'freshness',
      ['account', 'surveys', 'never read', 'oldest', 'newest', 'failing'],
      status.freshness.map(({ account, ...row }) => [account, ...Object.values(row)]),
    ),
    section(
      'rows',
      ['table', 'rows'],
      status.tables.map(({ table, rows }) => [table, rows]),
    ),
    section(
      'drift',
      ['account', 'field', 'value', 'seen', 'first', 'last'],
      status.drift.map((row) => [
        row.account,
        onOneLine(`${row.resource}.${row.path}`),
        row.value === null ? `(${row.kind})` : onOneLine(row.value),
        counted(row.occurrences, 'time'),
        row.first_seen_at,
        row.last_seen_at,
      ]),
      'none: every field and value is known',
    ),
    section(
      'rejected rows',
      ['account', 'endpoint', 'problem', 'rows', 'replayed', 'first', 'last'],
      status.rejections.map(({ account, endpoint, problem, ...row }) => [
        account,
        endpoint,
        onOneLine(problem),
        ...Object.values(row),
      ]),
      'none',
    ),
  ]
    .flatMap((part) => part ?? [])
    .join('\n\n')

/** Bigints are instants. */
type Cell = string | number | Instant | null

/** A section without rows prints `nothing`. If that is null too, the section is left out. */
const section = (
  title: string,
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
  nothing: string | null = 'nothing yet',
): string | null => {
  if (rows.length > 0) return `${title}\n${textTable([columns, ...rows.map((row) => row.map(textOf))], '  ')}`
  return nothing === null ? null : `${title}\n  ${nothing}`
}

const textOf = (cell: Cell): string => {
  if (cell === null) return '-'
  if (typeof cell === 'string') return cell
  return typeof cell === 'bigint' ? formatInstant(cell) : humanCount(cell)
}

export const showRequests = async ({ signal, print }: CliContext, settings: Settings): Promise<void> => {
  const runs = await readLastRequestUsage(settings, signal)
  await print(settings.json ? `${jsonOf({ runs })}\n` : `${renderRequestUsage(runs)}\n`)
}

const renderRequestUsage = (runs: readonly RunRequestUsage[]): string =>
  runs
    .map(({ account, started_at, requests, requests_estimated, requestUsage }) => {
      const saved = sum(requestUsage, 'saved')
      const planned = requests_estimated === null ? '' : `, ${humanCount(requests_estimated)} were planned`
      return `requests of ${account}, run of ${formatInstant(started_at)}: ${counted(requests ?? 0, 'request')}${planned}; ${humanCount(saved)} saved
${textTable(requestTable(requestUsage), '  ')}`
    })
    .join('\n\n') || 'no run has recorded its requests yet'

const sum = (usage: readonly RequestUsage[], field: 'requests' | 'saved'): number =>
  usage.reduce((total, one) => total + one[field], 0)

const requestTable = (usage: readonly RequestUsage[]): readonly (readonly string[])[] => {
  const kinds = REQUEST_KINDS.filter((kind) => usage.some((one) => one.kind === kind))
  const rowOf = (name: string, mine: readonly RequestUsage[]) => [
    name,
    ...kinds.map((kind) => requestCell(mine.filter((one) => one.kind === kind))),
  ]
  return [
    ['why', ...kinds.map((kind) => REQUEST_USAGE_WORDS[kind])],
    ...REQUEST_REASONS.flatMap((reason) => {
      const mine = usage.filter((one) => one.reason === reason)
      return mine.length === 0 ? [] : [rowOf(REQUEST_USAGE_WORDS[reason], mine)]
    }),
    rowOf('in all', usage),
  ]
}

/** `17`, `17 (2 saved)`, `(2 saved)` */
const requestCell = (usage: readonly RequestUsage[]): string => {
  const [made, saved] = [sum(usage, 'requests'), sum(usage, 'saved')]
  const parts = [made === 0 ? '' : humanCount(made), saved === 0 ? '' : `(${humanCount(saved)} saved)`]
  return parts.join(' ').trim() || '-'
}
