/** The bookkeeping of the job, schema `_sync`: runs, cursor, queue, quarantine and drift. */
import { ALARMS } from './alarms.js'
import {
  bigint,
  boolean,
  columnsOf,
  date,
  double,
  type Fields,
  json,
  nullable,
  type TableDeclaration,
  timestamptz,
  varchar,
  varcharOf,
} from './columns.js'
import { DIGEST_CHANNELS } from './monitoring.js'
import { REQUEST_KINDS, REQUEST_REASONS, TASK_REASONS } from './request-usage.js'
import { REPLAY_RESULTS } from './run.js'
import { LISTING_KINDS, RUN_COLUMNS, RUN_FIELDS } from './run-record.js'
import { DRIFT_KINDS, ENDPOINTS } from './survey-source.js'
import {
  DATA_TABLES,
  freshness,
  HISTORY_TABLES,
  plan,
  surveyForecasts,
  surveyProgressByDay,
  surveyProgressReconstructed,
  surveys,
} from './tables.js'

const { account, runId } = RUN_FIELDS
const surveyId = bigint('ID of the survey')
const listingKind = varcharOf(LISTING_KINDS, 'Kind of listing')

const sync = (name: string, comment: string, key: readonly string[], fields: Fields): TableDeclaration => ({
  schema: '_sync',
  name,
  comment,
  key,
  columns: columnsOf(fields),
})

export const runs = sync('runs', 'One row per run and account', ['run_id', 'account'], {
  ...RUN_COLUMNS,
  run_number: bigint.orNull('Number of the run, whatever the clock said: the highest is the last one'),
})

export const requests = sync(
  'requests',
  'Requests of a run by reason and kind, sent and saved; one row per run, account, reason and kind',
  ['run_id', 'account', 'reason', 'kind'],
  {
    run_id: runId,
    account,
    reason: varcharOf(
      REQUEST_REASONS,
      'The listing, the reason why the survey was queued, left over from an earlier run, not due, or excluded by the settings',
    ),
    kind: varcharOf(REQUEST_KINDS, 'Kind of request'),
    made: bigint('Requests sent, retries included'),
    saved: bigint('Requests that were not sent, because their answer was known or not due'),
  },
)

export const cursors = sync('cursors', 'Where the next listing starts; one row per account', ['account'], {
  account,
  updated_since: timestamptz('The cursor: changes up to here are in a table, the queue or quarantine'),
  dated_at: timestamptz.orNull(
    'When the first page of the listing that set the cursor was read, clock of the machine that ran it; null = an earlier version set it',
  ),
  full_listed_at: timestamptz('When the last full listing ended, clock of the machine that ran it'),
  counted_at: timestamptz.orNull(
    'When the API last had as many surveys as are known, so that no full listing was needed, clock of the machine that ran it; null = never compared',
  ),
  moved_at: timestamptz('When the cursor was last moved, clock of the machine that ran it'),
  full_listing_due: boolean.orNull(
    'Whether a full listing is due: one has begun and has not ended, or a survey returned 404 at its own address',
  ),
  vanished_at: timestamptz.orNull(
    'The last full listing, server time, if it showed so many surveys fewer than before that no 404 marks them: the next full listing has to agree; null otherwise',
  ),
  page_rows: bigint.orNull('Rows of a full page of the last listing with several pages; plans use it'),
})

export const listings = sync(
  'listings',
  'Interrupted listings; at most one per account and kind',
  ['account', 'kind'],
  {
    account,
    kind: listingKind,
    updated_since: timestamptz.orNull('updated_since of the listing; null for a full one'),
    ceiling: timestamptz(
      'The cursor after the complete listing; fixed before its first page. A listing of changes that ends meanwhile moves that of a full one',
    ),
    ceiling_dated_at: timestamptz.orNull(
      'When the ceiling was fixed, clock of the machine that ran it; null = an earlier version fixed it',
    ),
    next_page: bigint('Number of the page to be read next'),
    total_count: bigint('total_count of the last page read'),
    least_total_count: bigint.orNull(
      'The least total_count of the pages read: a listing without drift shows so many surveys',
    ),
    unidentified_rows: bigint('Rejected rows without a readable id; they count as seen surveys'),
    last_page_unidentified_rows: bigint.orNull(
      'How many of these were on the last page read; that page is read again when the listing is resumed',
    ),
    started_at: timestamptz('When it started, clock of the machine that ran it'),
  },
)

const listedIds = sync(
  'listed_ids',
  'Surveys that an interrupted listing has seen so far, one row each time. A full one has also seen those of the listings of changes meanwhile',
  [],
  {
    account,
    kind: listingKind,
    survey_id: surveyId,
  },
)

export const tasks = sync(
  'tasks',
  'Surveys whose sources and progress are to be read; one row per survey',
  ['account', 'survey_id'],
  {
    account,
    survey_id: surveyId,
    reason: varcharOf(TASK_REASONS, 'Why it was queued'),
    enqueued_at: timestamptz('When it was queued, server time'),
    enqueued_run_id: runId,
    attempts: bigint('Number of failed attempts'),
    last_error: varchar.orNull('Why the last attempt failed'),
    failed_at: timestamptz.orNull('When an attempt last failed, server time; null if none did'),
    last_run_id: varchar.orNull('The run of the last attempt'),
    requests_needed: bigint.orNull('Requests that it needs, if a budget stopped it'),
    refusals: bigint.orNull('Consecutive refusals by the API (404, 403); null without any'),
    refused_at: timestamptz.orNull('Last refusal by the API, server time'),
    unfinished: bigint.orNull(
      'Attempts in a row to read it in parts that kept nothing new, or whose run was killed; null without any',
    ),
    unfinished_at: timestamptz.orNull(
      'When a run last began to read it in parts, server time; null if none did',
    ),
    queued_again_at: timestamptz.orNull('When it was last queued again, server time'),
  },
)

export const keptAnswers = sync(
  'kept_answers',
  'Answers about surveys that no single run could read as a whole; dropped when the survey enters the tables',
  [],
  {
    account,
    survey_id: surveyId,
    request: varchar('Path and query of the request'),
    answer: varchar('The text of the answer, as a JSON string'),
    answered_at: timestamptz('When it was answered, server time'),
    run_id: runId,
  },
)

export const pendingSurveys: TableDeclaration = {
  ...surveys,
  schema: '_sync',
  name: 'pending_surveys',
  comment:
    'Changed survey rows that wait for their task: they enter surveys together with their sources and progress',
}

export const rejectedRows = sync(
  'rejected_rows',
  'Quarantine: rows of answers that could not be typed, unchanged',
  [],
  {
    account,
    run_id: runId,
    rejected_at: timestamptz('When the answer was read, server time'),
    endpoint: varcharOf(ENDPOINTS, 'Requested endpoint'),
    survey_id: nullable(surveyId),
    sample_source_id: bigint.orNull('ID of the sample source, if the row belongs to one'),
    day: date.orNull('Requested day; null for all interviews'),
    problem: varchar('Field that could not be typed, and reason'),
    raw: json('The row as received; U+FFFD replaces invalid UTF-8 and lone surrogates'),
    replayed_at: timestamptz.orNull(
      'When a replay typed it, clock of the machine that ran it; null while it cannot be typed',
    ),
    replayed_run_id: varchar.orNull('The replay that typed it, see runs.run_id'),
    replay_result: nullable(
      varcharOf(
        REPLAY_RESULTS,
        'Result of the replay; outdated: the survey was read again since, or is gone',
      ),
    ),
  },
)

export const driftEvents = sync(
  'drift_events',
  'Differences from the API document: unknown fields, unknown enum values and replaced text; one row each',
  ['account', 'resource', 'path', 'value', 'kind'],
  {
    account,
    resource: varcharOf(['survey', 'sample_source', 'fieldwork_progress'], 'Resource of the field'),
    path: varchar('The field'),
    value: varchar.orNull('The unknown enum value; null for the other kinds'),
    kind: varcharOf(
      DRIFT_KINDS,
      'Kind of difference; replaced_text: bytes that are not UTF-8, or half of a surrogate pair, are kept as U+FFFD',
    ),
    occurrences: bigint('Number of occurrences'),
    first_seen_at: timestamptz('First occurrence, server time'),
    first_run_id: runId,
    last_seen_at: timestamptz('Last occurrence, server time'),
    last_run_id: runId,
  },
)

export const compactions = sync(
  'compactions',
  'How far old progress history was compacted to one observation per day; one row per account',
  ['account'],
  {
    account,
    compacted_before: timestamptz(
      'Before this moment only the last observation of each day is kept, server time',
    ),
    rows_removed: bigint('Observations that were removed so far, of surveys and sources'),
    last_run_id: varchar('Run of the last compaction'),
    last_compacted_at: timestamptz('Time of the last compaction, server time'),
  },
)

export const clockChanges = sync(
  'clock_changes',
  'How far the clocks of the time zone of the settings are ahead of UTC, from each change on',
  ['since'],
  {
    time_zone: varchar('IANA name of the time zone, in which all days are'),
    since: timestamptz('From when on'),
    ahead_us: bigint('By how much the clocks are ahead of UTC, microseconds'),
  },
)

export const alarmLevels = sync(
  'alarm_levels',
  'The levels of the setting alarms; one row per level, or none before the first sync, where the defaults count',
  ['alarm'],
  {
    alarm: varcharOf(ALARMS, 'The key of the setting'),
    level: double.orNull('From here on a survey needs action, as a part of the whole; null = never'),
  },
)

const channel = varcharOf(DIGEST_CHANNELS, 'Where the digest goes')

export const digests = sync(
  'digests',
  'The accounts of which a channel has had its first digest; one row per channel and account',
  ['channel', 'account'],
  {
    channel,
    account,
    since: timestamptz('Time of the first run with it, clock of the machine that ran it'),
    last_run_id: varchar.orNull(
      'Run of its last digest; what is new in the answers of the API since then is news',
    ),
  },
)

export const digestItems = sync(
  'digest_items',
  'Rows of needs_action that a digest need not tell again, until they are gone',
  ['channel', 'account', 'survey_id', 'kind'],
  {
    channel,
    account,
    survey_id: surveyId,
    kind: varchar('The reason, see needs_action.kind'),
    last_run_id: runId,
  },
)

/** The version that the declarations describe. */
export const SCHEMA_VERSION = 8

const schemaVersion = sync('schema_version', 'Migrations that were applied to this database', ['version'], {
  version: bigint('Number of the schema version'),
  applied_at: timestamptz('When it was applied, clock of the machine that ran it'),
  description: varchar('Change of the migration'),
  descriptions_digest: varchar.orNull(
    'Digest of the comments and views in this database; if it differs from that of this version, they are created again',
  ),
})

/** Every table of the warehouse. */
export const ALL_TABLES: readonly TableDeclaration[] = [
  ...DATA_TABLES,
  ...HISTORY_TABLES,
  surveyProgressByDay,
  surveyProgressReconstructed,
  surveyForecasts,
  freshness,
  plan,
  runs,
  requests,
  cursors,
  listings,
  listedIds,
  tasks,
  keptAnswers,
  pendingSurveys,
  rejectedRows,
  driftEvents,
  compactions,
  clockChanges,
  alarmLevels,
  digests,
  digestItems,
  schemaVersion,
]

/** The name of a table as people write it: `surveys` or `_sync.runs`. */
export const tableName = ({ schema, name }: { readonly schema: string; readonly name: string }): string =>
  schema === 'main' ? name : `${schema}.${name}`
