/** What `status` says, for people. */

import { counted, humanCount } from '../../base/human.js'
import { onOneLine } from '../../model/data-problem-names.js'
import { formatInstant, type Instant } from '../../model/instant.js'
import type { WarehouseStatus } from '../../warehouse/status.js'
import { textTable } from '../text/text-table.js'
import type { StatusHead } from '../wiring/warehouse-status.js'

export const renderStatus = (head: StatusHead, status: WarehouseStatus): string =>
  [
    `${head.published}, published ${formatInstant(head.publishedAt)}${head.holder === null ? '' : `\nheld by ${head.holder}`}`,
    section(
      'last runs',
      ['started', 'account', 'ended', 'exit', 'requests', 'refreshed', 'left over'],
      runRows(status),
    ),
    section('cursor', ['account', 'next listing from', 'last full listing'], cursorRows(status)),
    section('queue', ['account', 'reason', 'surveys', 'failing', 'oldest'], queueRows(status), 'empty'),
    ...(status.failing.length === 0
      ? []
      : [
          section(
            'surveys that could not be read',
            ['account', 'survey', 'title', 'tried'],
            failingRows(status),
          ),
        ]),
    section(
      'freshness',
      ['account', 'surveys', 'never read', 'oldest', 'newest', 'failing'],
      freshnessRows(status),
    ),
    section(
      'rows',
      ['table', 'rows'],
      status.tables.map(({ table, rows }) => [table, humanCount(rows)]),
    ),
    section(
      'drift',
      ['account', 'field', 'value', 'met', 'first', 'last'],
      driftRows(status),
      'none: every field and value is known',
    ),
    section(
      'rejected rows',
      ['account', 'endpoint', 'problem', 'rows', 'replayed', 'first', 'last'],
      rejectionRows(status),
      'none',
    ),
  ].join('\n\n')

const section = (
  title: string,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  nothing = 'nothing yet',
): string => `${title}\n${rows.length === 0 ? `  ${nothing}` : textTable([columns, ...rows], '  ')}`

const number = (count: number | null): string => (count === null ? '-' : humanCount(count))
const moment = (at: Instant | null): string => (at === null ? '-' : formatInstant(at))

const runRows = ({ runs }: WarehouseStatus) =>
  runs.flatMap((run) => [
    [
      moment(run.started_at),
      run.account,
      run.status,
      number(run.exit_code),
      number(run.requests),
      number(run.surveys_refreshed),
      number(run.left_over),
    ],
    ...(run.reason === null ? [] : [[`  ${run.reason}`]]),
  ])

const cursorRows = ({ cursors }: WarehouseStatus) =>
  cursors.map((cursor) => [cursor.account, moment(cursor.updated_since), moment(cursor.full_listed_at)])

const queueRows = ({ queue }: WarehouseStatus) =>
  queue.map((row) => [row.account, row.reason, number(row.tasks), number(row.failing), moment(row.oldest_at)])

const failingRows = ({ failing }: WarehouseStatus) =>
  failing.flatMap((row) => [
    [row.account, String(row.survey_id), onOneLine(row.title ?? ''), counted(row.attempts, 'time')],
    [`  ${onOneLine(row.error)}`],
  ])

const freshnessRows = ({ freshness }: WarehouseStatus) =>
  freshness.map((row) => [
    row.account,
    number(row.surveys),
    number(row.never_refreshed),
    moment(row.oldest_refresh_at),
    moment(row.newest_refresh_at),
    number(row.with_error),
  ])

const driftRows = ({ drift }: WarehouseStatus) =>
  drift.map((row) => [
    row.account,
    onOneLine(`${row.resource}.${row.path}`),
    row.value === null ? `(${row.kind})` : onOneLine(row.value),
    counted(row.occurrences, 'time'),
    moment(row.first_seen_at),
    moment(row.last_seen_at),
  ])

const rejectionRows = ({ rejections }: WarehouseStatus) =>
  rejections.map((row) => [
    row.account,
    row.endpoint,
    onOneLine(row.problem),
    number(row.rows),
    number(row.replayed),
    moment(row.first_at),
    moment(row.last_at),
  ])
