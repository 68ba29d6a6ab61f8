/** What `status` prints: the published state, or only the requests of the last runs by reason and kind. */
import { counted, humanCount } from '../base/human.js'
import { onOneLine } from '../model/data-problem-names.js'
import { formatInstant, type Instant } from '../model/instant.js'
import {
  REQUEST_KINDS,
  REQUEST_REASONS,
  type RequestKind,
  type RequestUsage,
} from '../model/request-usage.js'
import type { Settings } from '../settings/settings.js'
import { readLastRequestUsage, readWarehouseStatus, type StatusHead } from '../storage/open.js'
import type { RunRequestUsage } from '../warehouse/history/request-usage.js'
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
      status.runs.flatMap((run) => [
        [
          cell(run.started_at),
          run.account,
          run.status,
          ...[run.exit_code, run.requests, run.surveys_refreshed, run.left_over].map(cell),
        ],
        ...(run.reason === null ? [] : [[`  ${run.reason}`]]),
      ]),
    ),
    section(
      'cursor',
      ['account', 'next listing from', 'last full listing'],
      status.cursors.map((row) => [row.account, cell(row.updated_since), cell(row.full_listed_at)]),
    ),
    section(
      'queue',
      ['account', 'reason', 'surveys', 'failing', 'oldest'],
      status.queue.map((row) => [
        row.account,
        row.reason,
        ...[row.tasks, row.failing, row.oldest_at].map(cell),
      ]),
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
      status.freshness.map(({ account, ...row }) => [account, ...Object.values(row).map(cell)]),
    ),
    section(
      'rows',
      ['table', 'rows'],
      status.tables.map(({ table, rows }) => [table, cell(rows)]),
    ),
    section(
      'drift',
      ['account', 'field', 'value', 'seen', 'first', 'last'],
      status.drift.map(driftRow),
      'none: every field and value is known',
    ),
    section(
      'rejected rows',
      ['account', 'endpoint', 'problem', 'rows', 'replayed', 'first', 'last'],
      status.rejections.map(rejectionRow),
      'none',
    ),
  ]
    .flatMap((part) => part ?? [])
    .join('\n\n')

const driftRow = (row: WarehouseStatus['drift'][number]): readonly string[] => [
  row.account,
  onOneLine(`${row.resource}.${row.path}`),
  row.value === null ? `(${row.kind})` : onOneLine(row.value),
  counted(row.occurrences, 'time'),
  ...[row.first_seen_at, row.last_seen_at].map(cell),
]

const rejectionRow = (row: WarehouseStatus['rejections'][number]): readonly string[] => [
  row.account,
  row.endpoint,
  onOneLine(row.problem),
  ...[row.rows, row.replayed, row.first_at, row.last_at].map(cell),
]

/** A section without rows prints `nothing`. If that is null too, the section is left out. */
const section = (
  title: string,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  nothing: string | null = 'nothing yet',
): string | null => {
  if (rows.length > 0) return `${title}\n${textTable([columns, ...rows], '  ')}`
  return nothing === null ? null : `${title}\n  ${nothing}`
}

/** Bigints are instants. */
const cell = (value: number | Instant | null): string => {
  if (value === null) return '-'
  return typeof value === 'bigint' ? formatInstant(value) : humanCount(value)
}

export const showRequests = async ({ signal, print }: CliContext, settings: Settings): Promise<void> => {
  const runs = await readLastRequestUsage(settings, signal)
  await print(settings.json ? `${jsonOf({ runs })}\n` : `${renderRequestUsage(runs)}\n`)
}

const renderRequestUsage = (runs: readonly RunRequestUsage[]): string =>
  runs.length === 0 ? 'no run has recorded its requests yet' : runs.map(requestsOfRun).join('\n\n')

const requestsOfRun = ({
  account,
  started_at,
  requests,
  requests_estimated,
  requestUsage,
}: RunRequestUsage): string => {
  const saved = requestUsage.reduce((sum, one) => sum + one.saved, 0)
  const planned = requests_estimated === null ? '' : `, ${humanCount(requests_estimated)} were planned`
  return [
    `requests of ${account}, run of ${formatInstant(started_at)}: ${counted(requests ?? 0, 'request')}${planned}; ${humanCount(saved)} saved`,
    textTable(requestTable(requestUsage), '  '),
  ].join('\n')
}

const requestTable = (requestUsage: readonly RequestUsage[]): readonly (readonly string[])[] => {
  const kinds = REQUEST_KINDS.filter((kind) => requestUsage.some((one) => one.kind === kind))
  const reasons = REQUEST_REASONS.filter((reason) => requestUsage.some((one) => one.reason === reason))
  const rowOf = (mine: readonly RequestUsage[]) => kinds.map((kind) => requestCell(mine, kind))
  return [
    ['why', ...kinds.map((kind) => REQUEST_USAGE_WORDS[kind])],
    ...reasons.map((reason) => [
      REQUEST_USAGE_WORDS[reason],
      ...rowOf(requestUsage.filter((one) => one.reason === reason)),
    ]),
    ['in all', ...rowOf(requestUsage)],
  ]
}

/** `17`, `17 (2 saved)`, `(2 saved)` */
const requestCell = (requestUsage: readonly RequestUsage[], kind: RequestKind): string => {
  const mine = requestUsage.filter((one) => one.kind === kind)
  const made = mine.reduce((sum, one) => sum + one.requests, 0)
  const saved = mine.reduce((sum, one) => sum + one.saved, 0)
  return (
    [made === 0 ? '' : humanCount(made), saved === 0 ? '' : `(${humanCount(saved)} saved)`]
      .filter((part) => part !== '')
      .join(' ') || '-'
  )
}
