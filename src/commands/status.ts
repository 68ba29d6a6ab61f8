/** What `status` prints: the published state, or only the requests of the last runs by reason and kind. */
import { counted, humanCount } from '../base/human.js'
import { onOneLine } from '../model/data-problem-names.js'
import { formatInstant, type Instant } from '../model/instant.js'
import { REQUEST_KINDS, REQUEST_REASONS, type RequestUsage } from '../model/request-usage.js'
import type { Settings } from '../settings/settings.js'
import { readLastRequestUsage, readWarehouseStatus, type StatusHead } from '../storage/open.js'
import type { RunRequestUsage } from '../warehouse/history/runs.js'
import type { WarehouseStatus } from '../warehouse/status.js'
import type { CliContext } from './context.js'
import { jsonOf } from './text/json.js'
import { REQUEST_USAGE_WORDS } from './text/run-lines.js'
import { textTable } from './text/text-table.js'

export const showStatus = async ({ signal, print }: CliContext, settings: Settings): Promise<void> => {
  const { head, status } = await readWarehouseStatus(settings, signal)
  await print(settings.json ? `${jsonOf({ ...head, ...status })}\n` : `${renderStatus(head, status)}\n`)
}

const renderStatus = (head: StatusHead, status: WarehouseStatus): string =>
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
