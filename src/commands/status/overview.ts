/** The text of `status` below its verdict: what a person may have to know about the published state, in at most 80 columns. */
import { humanAge, humanCount } from '../../base/human.js'
import { onOneLine, printable } from '../../model/data-problem-names.js'
import { type Instant, instantFromMs, minusMs, msBetween } from '../../model/instant.js'
import { serverNow } from '../../rules/plan.js'
import type { StatusHead } from '../../storage/open.js'
import type { WarehouseStatus } from '../../warehouse/status.js'
import { textTable, wrapped } from '../text/text-table.js'
import { shortInstant, withAge } from './explain.js'
import { shortReason } from './verdict.js'

interface Shown {
  readonly nowMs: number
  /** The overlap that was subtracted from the cursors. */
  readonly overlapMs: number
  /** Columns of the terminal. */
  readonly width: number
  /** The text of the verdict, so that the reason of a run's end is not printed twice. */
  readonly said: string
}

type Status = Omit<WarehouseStatus, 'syncs'>

export const renderOverview = (
  head: StatusHead,
  status: Status,
  { nowMs, overlapMs, width, said }: Shown,
): string => {
  const now = instantFromMs(nowMs)
  const servers = new Map(
    status.cursors.map(({ account, updated_since: cursor, moved_at: listedAtOurs }) => [
      account,
      serverNow({ listedAt: minusMs(cursor, -overlapMs), listedAtOurs }, nowMs),
    ]),
  )
  const accounts = new Set([...status.runs, ...status.freshness].map((row) => row.account))
  const words: Words = {
    now,
    reason: (reason) => (reason === null || said.includes(shortReason(reason)) ? null : shortReason(reason)),
    account: (account) => (accounts.size > 1 ? { account } : {}),
    at: (account, moment) => (moment === null ? null : withAge(moment, servers.get(account) ?? now)),
    age: (account, moment) =>
      moment === null ? null : humanAge(msBetween(moment, servers.get(account) ?? now)),
  }
  return [
    [head.published, `published ${withAge(head.publishedAt, now)}`].join('\n'),
    ...(head.holder === null ? [] : [wrapped(`held by ${head.holder}`, width)]),
    ...[...ofRuns(status, words), ...ofSurveys(status, words), ...ofData(status, words)].flatMap((section) =>
      textOf(section, width),
    ),
  ].join('\n\n')
}

interface Words {
  /** Why a run ended as it did, unless the verdict says it. */
  reason(reason: string | null): string | null
  /** By our clock. */
  readonly now: Instant
  /** The column of the account, if there are several accounts. */
  account(account: string): Row
  /** A time by the server's clock, with its age. */
  at(account: string, moment: Instant | null): string | null
  /** Only the age of a time by the server's clock. */
  age(account: string, moment: Instant | null): string | null
}

interface Section {
  readonly title: string
  readonly rows: readonly Row[]
  /** A line below each row; null for none. */
  readonly remarks?: readonly (string | null)[]
}

/** The names of the columns are the keys. */
type Row = Readonly<Record<string, string | number | null>>

const ofRuns = ({ runs, cursors }: Status, { now, reason, account, at }: Words): readonly Section[] => [
  {
    title: 'last runs',
    rows: runs.map((run) => ({
      started: shortInstant(run.started_at),
      ago: humanAge(msBetween(run.started_at, now)),
      ...account(run.account),
      ended: run.status,
      exit: run.exit_code,
      requests: run.requests,
      read: run.surveys_refreshed,
      left: run.left_over,
    })),
    remarks: runs.map((run) => reason(run.reason)),
  },
  {
    title: 'next listing',
    rows: cursors.map((row) => ({
      ...account(row.account),
      'changes since': at(row.account, row.updated_since),
      'last full listing': withAge(row.full_listed_at, now),
    })),
  },
]

const ofSurveys = (
  { queue, failing, freshness, left_out: leftOut }: Status,
  { account, at, age }: Words,
): readonly Section[] => [
  {
    title: 'queue',
    rows: queue.map((row) => ({
      ...account(row.account),
      reason: row.reason,
      'oldest since': at(row.account, row.oldest_at),
      surveys: row.tasks,
      failing: row.failing,
    })),
  },
  {
    title: 'surveys that could not be read',
    rows: failing.map((row) => ({
      ...account(row.account),
      survey: String(row.survey_id),
      title: printable(row.title ?? ''),
      'times tried': row.attempts,
    })),
    remarks: failing.map(({ error }) => onOneLine(error)),
  },
  {
    title: 'left out of lists, and still read',
    rows: leftOut.map((row) => ({
      ...account(row.account),
      survey: String(row.survey_id),
      'not listed since': at(row.account, row.unlisted_since),
      sources: row.sources_left_out ?? 0,
    })),
  },
  {
    title: 'freshness',
    rows: freshness.map((row) => ({
      ...account(row.account),
      'oldest reading': at(row.account, row.oldest_refresh_at),
      newest: age(row.account, row.newest_refresh_at),
      surveys: row.surveys,
      unread: row.never_refreshed,
      failing: row.with_error,
      excluded: row.excluded,
    })),
  },
]

const ofData = ({ tables, drift, rejections }: Status, { account, at }: Words): readonly Section[] => [
  {
    title: 'drift: not in the API document',
    rows: drift.map((row) => ({
      ...account(row.account),
      field: printable(`${row.resource}.${row.path}`),
      value: row.value === null ? `(${row.kind})` : printable(row.value),
      'last seen': at(row.account, row.last_seen_at),
      times: row.occurrences,
    })),
  },
  {
    title: 'rejected rows',
    rows: rejections.map((row) => ({
      ...account(row.account),
      endpoint: row.endpoint,
      last: at(row.account, row.last_at),
      rows: row.rows,
      replayed: row.replayed,
    })),
    remarks: rejections.map(({ problem }) => onOneLine(problem)),
  },
  { title: 'rows', rows: tables.filter(({ rows }) => rows > 0) },
]

/** A section without rows has no text. A column that has only zeros is left out. Columns of words come first, then numbers. */
const textOf = ({ title, rows, remarks = [] }: Section, width: number): string[] => {
  const [first] = rows
  if (first === undefined) return []
  const names = Object.keys(first).filter((name) => rows.some((row) => (row[name] ?? 0) !== 0))
  const isNumber = (name: string) => rows.some((row) => typeof row[name] === 'number')
  const words = names.filter((name) => !isNumber(name))
  const columns = [...words, ...names.filter(isNumber)]
  const lines = rows.flatMap((row, index) => {
    const remark = remarks[index] ?? null
    const cells = columns.map((name) => cellOf(row[name] ?? null))
    return remark === null ? [cells] : [cells, [`  ${wrapped(remark, width - 4, '    ')}`]]
  })
  const cut = columns.flatMap((name, index) => (CUT.includes(name) ? [index] : []))
  const shape = { indent: '  ', leftColumns: words.length, widthMax: width, cut }
  return [`${title}\n${textTable([columns, ...lines], shape)}`]
}

/** Columns whose texts may have any length. */
const CUT: readonly string[] = ['account', 'title', 'field', 'value']

const cellOf = (cell: string | number | null): string => {
  if (cell === null) return '-'
  return typeof cell === 'string' ? cell : humanCount(cell)
}
