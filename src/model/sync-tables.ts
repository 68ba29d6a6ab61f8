/** The bookkeeping of the job, schema `_sync`: runs, cursor, queue, quarantine and drift. */
import {
  bigint,
  boolean,
  columnsOf,
  date,
  type Fields,
  json,
  nullable,
  type TableDeclaration,
  timestamptz,
  varchar,
  varcharOf,
} from './columns.js'
import { REQUEST_KINDS, REQUEST_REASONS, TASK_REASONS } from './request-usage.js'
import { REPLAY_RESULTS } from './run.js'
import { LISTING_KINDS, RUN_COLUMNS, RUN_FIELDS } from './run-record.js'
import { DRIFT_KINDS, ENDPOINTS } from './survey-source.js'
import { DATA_TABLES, freshness, HISTORY_TABLES, surveyProgressByDay, surveys } from './tables.js'

const { account, runId } = RUN_FIELDS
const surveyId = bigint('ID of the survey')

const sync = (name: string, comment: string, key: readonly string[], fields: Fields): TableDeclaration => ({
  schema: '_sync',
  name,
  comment,
  key,
  columns: columnsOf(fields),
})

export const runs: TableDeclaration = {
  schema: '_sync',
  name: 'runs',
  comment: 'One row a run and account',
  key: ['run_id', 'account'],
  columns: RUN_COLUMNS,
}

export const requests = sync(
  'requests',
  'Where the requests of a run went and which it could do without, one row a run, account, reason and kind',
  ['run_id', 'account', 'reason', 'kind'],
  {
    run_id: runId,
    account,
    reason: varcharOf(
      REQUEST_REASONS,
      'Why: the listing, what a survey was queued for, left over from an earlier run, or resting: not due',
    ),
    kind: varcharOf(REQUEST_KINDS, 'What was asked for'),
    made: bigint('Requests sent, retries included'),
    saved: bigint('Requests that were not made because their answer was known or not due'),
  },
)

export const cursors = sync('cursors', 'Where the next listing starts, one row an account', ['account'], {
  account,
  updated_since: timestamptz('The cursor: changes up to here are in a table, the queue or quarantine'),
  full_listed_at: timestamptz('When the last full listing ended, clock of the machine that ran it'),
  moved_at: timestamptz('When the cursor was last moved, clock of the machine that ran it'),
  full_listing_due: nullable(
    boolean('Whether the next listing is a full one, because a survey answered 404 at its own address'),
  ),
  page_rows: nullable(
    bigint('Rows of a full page of the last listing that had more than one: plans go by it'),
  ),
})

export const listings = sync(
  'listings',
  'The listing that an interruption left half done, at most one an account',
  ['account'],
  {
    account,
    kind: varcharOf(LISTING_KINDS, 'Kind of listing'),
    updated_since: nullable(timestamptz('updated_since of the listing; null for a full one')),
    ceiling: timestamptz('What the cursor becomes when the listing is complete: fixed before its first page'),
    next_page: bigint('Number of the page to be read next'),
    total_count: bigint('total_count of the last page read'),
    first_total_count: nullable(
      bigint('total_count of the first page read: when no row has slipped by, so many surveys are seen'),
    ),
    unidentified_rows: bigint('Rejected rows whose id could not be read: they count as surveys seen'),
    last_page_unidentified_rows: nullable(
      bigint('How many of these were on the last page read, which is read again when the listing is resumed'),
    ),
    started_at: timestamptz('When it began, clock of the machine that ran it'),
  },
)

export const listedIds = sync(
  'listed_ids',
  'Surveys seen so far by the listing that is under way, a row each time',
  [],
  {
    account,
    survey_id: surveyId,
  },
)

export const tasks = sync(
  'tasks',
  'Surveys whose sources and progress are to be read, one row a survey',
  ['account', 'survey_id'],
  {
    account,
    survey_id: surveyId,
    reason: varcharOf(TASK_REASONS, 'Why it was queued'),
    enqueued_at: timestamptz('When it was queued, server time'),
    enqueued_run_id: runId,
    attempts: bigint('How often it was tried and failed'),
    last_error: nullable(varchar('Why it failed last')),
    last_run_id: nullable(varchar('The run that tried it last')),
    requests_needed: nullable(bigint('Requests that it was found to need, where a budget stopped it')),
    refusals: nullable(
      bigint('How often in a row the API refused what was asked of it (404, 403); null where it did not'),
    ),
    refused_at: nullable(timestamptz('When the API refused it last, server time')),
  },
)

export const pendingSurveys: TableDeclaration = {
  ...surveys,
  schema: '_sync',
  name: 'pending_surveys',
  comment:
    'Changed survey rows that wait for their task: they enter surveys together with the sources and progress read after them',
}

export const rejectedRows = sync(
  'rejected_rows',
  'Quarantine: rows of answers that could not be typed, as they came',
  [],
  {
    account,
    run_id: runId,
    rejected_at: timestamptz('When the answer was read, server time'),
    endpoint: varcharOf(ENDPOINTS, 'What was asked for'),
    survey_id: nullable(surveyId),
    sample_source_id: nullable(bigint('ID of the sample source, where the row belongs to one')),
    day: nullable(date('Day whose interviews were asked for; null where it was all of them')),
    problem: varchar('What could not be typed: field and reason'),
    raw: json('The row exactly as it came'),
    replayed_at: nullable(
      timestamptz(
        'When a replay could type it, clock of the machine that ran it; null while it cannot be typed',
      ),
    ),
    replayed_run_id: nullable(varchar('The replay that could, see runs.run_id')),
    replay_result: nullable(
      varcharOf(
        REPLAY_RESULTS,
        'What became of it; outdated where the survey was read again since or has gone',
      ),
    ),
  },
)

export const driftEvents = sync(
  'drift_events',
  'Where the answers differ from the API document: unknown fields, unknown enum values and replaced text, one row each',
  ['account', 'resource', 'path', 'value', 'kind'],
  {
    account,
    resource: varcharOf(['survey', 'sample_source', 'fieldwork_progress'], 'Whose field it is'),
    path: varchar('The field'),
    value: nullable(varchar('The unknown enum value; null for the other kinds')),
    kind: varcharOf(
      DRIFT_KINDS,
      'Kind of difference; replaced_text: bytes that are not UTF-8, or half of a surrogate pair, are kept as U+FFFD',
    ),
    occurrences: bigint('How often it was met'),
    first_seen_at: timestamptz('When it was first met, server time'),
    first_run_id: runId,
    last_seen_at: timestamptz('When it was last met, server time'),
    last_run_id: runId,
  },
)

export const compactions = sync(
  'compactions',
  'Up to when old progress history has one observation a day, one row an account where any was compacted',
  ['account'],
  {
    account,
    compacted_before: timestamptz(
      'Of the days before this moment only the last observation of each is kept, server time',
    ),
    rows_removed: bigint('Observations that went so far, of surveys and sources'),
    last_run_id: varchar('The run that compacted last'),
    last_compacted_at: timestamptz('When it did, server time'),
  },
)

/** The version that the declarations describe. */
export const SCHEMA_VERSION = 3

export const schemaVersion = sync(
  'schema_version',
  'Migrations that were applied to this database',
  ['version'],
  {
    version: bigint('Number of the schema version'),
    applied_at: timestamptz('When it was applied, clock of the machine that ran it'),
    description: varchar('What the migration did'),
    descriptions_digest: nullable(
      varchar(
        'Digest of the comments and views as they are in this database: they are made anew when it differs',
      ),
    ),
  },
)

export const SYNC_TABLES = [
  runs,
  requests,
  cursors,
  listings,
  listedIds,
  tasks,
  pendingSurveys,
  rejectedRows,
  driftEvents,
  compactions,
  schemaVersion,
] as const

/** Every table of the warehouse. */
export const ALL_TABLES: readonly TableDeclaration[] = [
  ...DATA_TABLES,
  ...HISTORY_TABLES,
  surveyProgressByDay,
  freshness,
  ...SYNC_TABLES,
]
