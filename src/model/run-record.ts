/**
 * The record of a run, declared once: the columns of `_sync.runs`, the type of the report, its names in `--json`, the counters of a run,
 * and the summary lines with a single number.
 */
import { counted } from '../base/human.js'
import { snakeCase } from '../base/snake-case.js'
import {
  bigint,
  type Field,
  type Fields,
  json,
  nullable,
  type RowOf,
  timestamptz,
  varchar,
  varcharOf,
} from './columns.js'

/** A sync of some surveys does not count as a nightly run. */
export const RUN_COMMANDS = ['sync', 'sync --surveys', 'replay'] as const
export const LISTING_KINDS = ['full', 'incremental'] as const

interface RunField extends Field {
  /** Starts at 0; the steps of the run add to it. */
  readonly isCounter?: boolean
  readonly line?: SummaryLine
}

interface SummaryLine {
  readonly label: string
  /** The text of the line; null for no line. */
  readonly text: (count: number) => string | null
}

const counter = (comment: string) => ({ ...bigint(comment), isCounter: true }) as const

/** Adds a summary line for a number. */
const shown = <Of extends Field<'BIGINT', false>>(
  of: Of,
  label: string,
  text: SummaryLine['text'],
): Of & { readonly line: SummaryLine } => ({ ...of, line: { label, text } })

/** In the order of the columns. A field is nullable if the report of an ended run may have null. */
export const RUN_FIELDS = {
  runId: varchar('Identifier of the run; other tables refer to it'),
  account: varchar('Name of the account in the settings'),
  version: varchar('Version of fieldwork-sync'),
  command: nullable(varcharOf(RUN_COMMANDS, 'The command')),
  startedAt: timestamptz('Start, clock of the machine that ran it'),
  endedAt: timestamptz('End; null while it runs, or when it was killed'),
  status: varcharOf(
    ['running', 'complete', 'partial', 'failed', 'killed'],
    'Current status; killed: the run left no record of its end',
  ),
  exitCode: bigint('Exit code of this account; the command exits with the worst of its accounts'),
  reason: varchar.orNull('Why it is not complete, one line'),
  errorCode: varchar.orNull(
    'Stable code of the error that decided exit_code, see the page of exit codes; null without one',
  ),
  listing: nullable(varcharOf(LISTING_KINDS, 'Kind of listing')),
  cursorBefore: timestamptz.orNull('updated_since of the listing; null for a full one'),
  cursorAfter: timestamptz.orNull('The cursor from which the next run starts'),
  requestsEstimated: bigint.orNull(
    'Requests that the plan expected at the start; null for a replay or sync --surveys',
  ),
  requests: bigint('Requests sent, retries included'),
  retries: bigint('Requests that repeated an earlier one'),
  rateLimited: bigint('Answers 429: more requests than the API allows'),
  surveysListed: counter('Rows in the listing, repeats included'),
  surveysRefreshed: counter('Surveys whose sources and progress were read'),
  surveysFailed: counter('Surveys whose refresh failed; they stay queued'),
  leftOver: shown(bigint('Surveys still queued at the end'), 'left over', (surveys) =>
    surveys === 0 ? 'nothing' : `${counted(surveys, 'survey')}, queued for the next run`,
  ),
  surveysLeftOut: shown(
    bigint('Surveys that the list leaves out although they still answer, see freshness.unlisted_since'),
    'left out',
    (surveys) => (surveys === 0 ? null : `${counted(surveys, 'survey')}, see freshness.unlisted_since`),
  ),
  sourcesLeftOut: shown(
    bigint(
      'Sources that the lists of surveys leave out although they still answer, see freshness.sources_left_out',
    ),
    'sources left out',
    (sources) => (sources === 0 ? null : `${counted(sources, 'source')}, see freshness.sources_left_out`),
  ),
  surveysUnconfirmed: shown(
    bigint('Surveys that vanished from the list at once and answer 404; the next full listing has to agree'),
    'unconfirmed',
    (surveys) => (surveys === 0 ? null : `${counted(surveys, 'survey')}, until the next full listing`),
  ),
  rejectedRows: shown(bigint('Rows that went to quarantine'), 'rejected', (rows) =>
    rows === 0 ? 'none' : `${counted(rows, 'row')}, kept in _sync.rejected_rows`,
  ),
  driftEvents: shown(bigint('Differences from the API document, see drift_events'), 'drift', (differences) =>
    differences === 0 ? 'none' : `${countedDrift(differences)}, see _sync.drift_events`,
  ),
  historyRowsCompacted: shown(
    counter('Old observations of progress that were removed from history; the last of each day stays'),
    'compacted',
    (rows) =>
      rows === 0
        ? null
        : `${counted(rows, 'old observation')} of progress removed, the last of each day stays`,
  ),
  rowsReplayed: bigint.orNull('Quarantined rows that a replay could type; null for a sync'),
  rowsByTable: json('{"table": {"added", "changed", "unchanged"}}'),
}

/** `1 difference from the API document` */
export const countedDrift = (differences: number): string =>
  counted(differences, 'difference from the API document', 'differences from the API document')

/** A row of `_sync.runs` of a run that has ended. */
export type RunRecord = RowOf<typeof RUN_FIELDS>

/** The fields that the report has with the same type. In place of `rowsReplayed` and `rowsByTable`, the report has objects. */
export type ReportedFields = Omit<RunRecord, 'version' | 'rowsReplayed' | 'rowsByTable'>

/** Stored when the run starts. All other columns are null until it ends. */
const KNOWN_AT_START = new Set(['runId', 'account', 'version', 'command', 'startedAt', 'status'])

const FIELDS: readonly (readonly [string, RunField])[] = Object.entries(RUN_FIELDS)

export const RUN_COLUMNS: Fields = Object.fromEntries(
  FIELDS.map(([name, { isCounter, line, ...field }]) => [
    snakeCase(name),
    KNOWN_AT_START.has(name) ? field : { ...field, nullable: true },
  ]),
)

/** The numbers that the steps of a run add to. */
export type RunCounters = {
  [Name in keyof typeof RUN_FIELDS as (typeof RUN_FIELDS)[Name] extends { isCounter: true }
    ? Name
    : never]: number
}

const COUNTERS = FIELDS.filter(([, { isCounter }]) => isCounter === true).map(([name]) => name)

export const zeroCounters = (): RunCounters => {
  const counts = Object.fromEntries(COUNTERS.map((name) => [name, 0]))
  if (!hasEveryCounter(counts)) throw new TypeError('a counter of the run has no start')
  return counts
}

const hasEveryCounter = (counts: Readonly<Record<string, number>>): counts is RunCounters =>
  COUNTERS.every((name) => name in counts)

/** The summary lines with one number of the report, each with the name of its field. */
export const summaryLines = (report: ReportedFields) => {
  const values = new Map(Object.entries(report))
  return FIELDS.flatMap(([field, { line }]) => {
    const value = values.get(field)
    if (line === undefined || typeof value !== 'number') return []
    const text = line.text(value)
    return text === null ? [] : [{ field, value, label: line.label, text }]
  })
}
