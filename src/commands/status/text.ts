/** What `status` and `check` say, for people. */

import { counted, humanCount } from '../../base/human.js'
import { formatInstant, type Instant } from '../../model/instant.js'
import { onOneLine } from '../../model/misfit-names.js'
import { textTable } from '../text/text-table.js'

/** The parts of a warehouse's status that are shown; `warehouse/status` reads them. */
export interface StatusView {
  readonly runs: readonly {
    readonly account: string
    readonly started_at: Instant
    readonly status: string
    readonly exit_code: number | null
    readonly reason: string | null
    readonly requests: number | null
    readonly surveys_refreshed: number | null
    readonly left_over: number | null
  }[]
  readonly cursors: readonly {
    readonly account: string
    readonly updated_since: Instant
    readonly full_listed_at: Instant
  }[]
  readonly queue: readonly {
    readonly account: string
    readonly reason: string
    readonly tasks: number
    readonly failing: number
    readonly oldest_at: Instant
  }[]
  readonly failing: readonly {
    readonly account: string
    readonly survey_id: number
    readonly title: string | null
    readonly attempts: number
    readonly error: string
  }[]
  readonly freshness: readonly {
    readonly account: string
    readonly surveys: number
    readonly never_refreshed: number
    readonly oldest_refresh_at: Instant | null
    readonly newest_refresh_at: Instant | null
    readonly with_error: number
  }[]
  readonly tables: readonly { readonly table: string; readonly rows: number }[]
  readonly drift: readonly {
    readonly account: string
    readonly resource: string
    readonly path: string
    readonly value: string | null
    readonly kind: string
    readonly occurrences: number
    readonly first_seen_at: Instant
    readonly last_seen_at: Instant
  }[]
  readonly rejections: readonly {
    readonly account: string
    readonly endpoint: string
    readonly problem: string
    readonly rows: number
    readonly replayed: number
    readonly first_at: Instant
    readonly last_at: Instant
  }[]
}

export interface StatusHead {
  /** Path of the published file. */
  readonly published: string
  readonly publishedAt: Instant
  /** Who holds the warehouse; null when nobody does. */
  readonly holder: string | null
}

export const renderStatus = (head: StatusHead, status: StatusView): string =>
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

const runRows = ({ runs }: StatusView) =>
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

const cursorRows = ({ cursors }: StatusView) =>
  cursors.map((cursor) => [cursor.account, moment(cursor.updated_since), moment(cursor.full_listed_at)])

const queueRows = ({ queue }: StatusView) =>
  queue.map((row) => [row.account, row.reason, number(row.tasks), number(row.failing), moment(row.oldest_at)])

const failingRows = ({ failing }: StatusView) =>
  failing.flatMap((row) => [
    [row.account, String(row.survey_id), onOneLine(row.title ?? ''), counted(row.attempts, 'time')],
    [`  ${onOneLine(row.error)}`],
  ])

const freshnessRows = ({ freshness }: StatusView) =>
  freshness.map((row) => [
    row.account,
    number(row.surveys),
    number(row.never_refreshed),
    moment(row.oldest_refresh_at),
    moment(row.newest_refresh_at),
    number(row.with_error),
  ])

const driftRows = ({ drift }: StatusView) =>
  drift.map((row) => [
    row.account,
    onOneLine(`${row.resource}.${row.path}`),
    row.value === null ? `(${row.kind})` : onOneLine(row.value),
    counted(row.occurrences, 'time'),
    moment(row.first_seen_at),
    moment(row.last_seen_at),
  ])

const rejectionRows = ({ rejections }: StatusView) =>
  rejections.map((row) => [
    row.account,
    row.endpoint,
    onOneLine(row.problem),
    number(row.rows),
    number(row.replayed),
    moment(row.first_at),
    moment(row.last_at),
  ])
