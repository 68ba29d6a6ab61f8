/**
 * One declaration per table. DDL, merge SQL, comments, staging, the data dictionary and everything else about
 * a table are derived from these (docs/decisions/warehouse.md#0026-a-table-is-declared-once). Tables for analysts are here;
 * the bookkeeping of the job is in `sync-tables.ts`.
 */
import {
  bigint,
  boolean,
  columnsOf,
  date,
  double,
  type Fields,
  nullable,
  type Reference,
  type RowOf,
  type TableDeclaration,
  timestamptz,
  varchar,
  varcharOf,
} from './columns.js'
import { PROGRESS_FIELDS, SAMPLE_SOURCE_FIELDS, SURVEY_FIELDS } from './fields.js'

const account = varchar(
  'Name of the account (organization) in the settings; default if only the environment is set',
)
const surveyId = bigint('ID of the survey')
const sampleSourceId = bigint('ID of the sample source')

const firstSeenAt = timestamptz('When the row was first read, server time')
const missingSince = timestamptz.orNull(
  'Since when the API no longer shows the row, server time; null while it does',
)
const synced = {
  _first_seen_at: firstSeenAt,
  _synced_at: timestamptz(
    'When this version of the row was first read, server time; an equal row does not change it',
  ),
  _missing_since: missingSince,
}
const observed = {
  _first_seen_at: firstSeenAt,
  _observed_at: timestamptz(
    'When these indicators were first read, server time; equal ones do not change it',
  ),
  _missing_since: missingSince,
}
const validity = {
  valid_from: timestamptz('When this version was first read, server time'),
  valid_to: timestamptz.orNull(
    'When the next version was first read, or the record was found missing; null = current',
  ),
}
const fieldworkDay =
  'The day of fieldwork of this reading, in the time zone of the settings: the day that holds most of the time since the reading before, or of the last 24 hours if more time has passed'
const observation = {
  observed_at: timestamptz('When these indicators were first read, server time'),
  day: date(fieldworkDay),
  day_before: date.orNull(
    'The last day of fieldwork that was known at the reading before, which had other indicators; null if it was not read before',
  ),
}

const main = (
  name: string,
  comment: string,
  key: readonly string[],
  fields: Fields,
  references: readonly Reference[] = [],
): TableDeclaration => ({
  schema: 'main',
  name,
  comment,
  key: ['account', ...key],
  columns: columnsOf({ account, ...fields }),
  references,
})

export const ofSurvey: readonly Reference[] = [
  { columns: ['account', 'survey_id'], table: 'surveys', to: ['account', 'id'] },
]
/** The reference to the survey of a row that has the survey's own key. */
export const ofSurveyById: readonly Reference[] = [
  { columns: ['account', 'id'], table: 'surveys', to: ['account', 'id'] },
]
export const ofSource = (id: string): readonly Reference[] => [
  {
    columns: ['account', 'survey_id', id],
    table: 'sample_sources',
    to: ['account', 'survey_id', 'id'],
  },
]

export const surveys = main('surveys', 'Current surveys; one row per survey', ['id'], {
  ...SURVEY_FIELDS,
  ...synced,
})

export const sampleSources = main(
  'sample_sources',
  'Current sample sources; one row per source',
  ['survey_id', 'id'],
  { survey_id: surveyId, ...SAMPLE_SOURCE_FIELDS, ...synced },
  ofSurvey,
)

export const surveyProgress = main(
  'survey_progress',
  'Current fieldwork progress of whole surveys; one row per survey',
  ['survey_id'],
  { survey_id: surveyId, ...PROGRESS_FIELDS, ...observed },
  ofSurvey,
)

export const sampleSourceProgress = main(
  'sample_source_progress',
  'Current fieldwork progress of sample sources; one row per source',
  ['survey_id', 'sample_source_id'],
  { survey_id: surveyId, sample_source_id: sampleSourceId, ...PROGRESS_FIELDS, ...observed },
  ofSource('sample_source_id'),
)

export const surveysHistory = main(
  'surveys_history',
  'Every version of every survey that was read (SCD type 2)',
  ['id', 'valid_from'],
  { ...SURVEY_FIELDS, ...validity },
  ofSurveyById,
)

export const sampleSourcesHistory = main(
  'sample_sources_history',
  'Every version of every sample source that was read (SCD type 2)',
  ['survey_id', 'id', 'valid_from'],
  { survey_id: surveyId, ...SAMPLE_SOURCE_FIELDS, ...validity },
  ofSource('id'),
)

export const surveyProgressHistory = main(
  'survey_progress_history',
  'Fieldwork progress of whole surveys; one row per change of the indicators or return of a missing survey',
  ['survey_id', 'observed_at'],
  { survey_id: surveyId, ...PROGRESS_FIELDS, ...observation },
  ofSurvey,
)

export const sampleSourceProgressHistory = main(
  'sample_source_progress_history',
  'Fieldwork progress of sample sources; one row per change of the indicators or return of a missing source',
  ['survey_id', 'sample_source_id', 'observed_at'],
  { survey_id: surveyId, sample_source_id: sampleSourceId, ...PROGRESS_FIELDS, ...observation },
  ofSource('sample_source_id'),
)

export const surveyProgressByDay = main(
  'survey_progress_by_day',
  'Indicators of the interviews that started on one day; one row per survey or source and day, only if the settings have days. Rows that are no longer read stay; freshness says whether they may be out of date',
  ['survey_id', 'sample_source_id', 'day'],
  {
    survey_id: surveyId,
    sample_source_id: bigint.orNull('ID of the sample source; null = the whole survey'),
    day: date(
      'The day on which the interviews started, in the time zone of the row. It lasts until the next day begins, also when clocks go back past midnight',
    ),
    time_zone: varchar('Time zone of the day, from the settings when the row was read'),
    started_after: timestamptz('First instant of the day'),
    started_before: timestamptz('Last instant of the day'),
    is_final: boolean('Whether this reading is the last, because the day ended long enough ago'),
    ...PROGRESS_FIELDS,
    ...observed,
  },
  ofSurvey,
)

export const surveyProgressReconstructed = main(
  'survey_progress_reconstructed',
  'Fieldwork progress of whole surveys as of days before the first reading: the interviews that had started, with their statuses at read_at; not observed',
  ['survey_id', 'as_of'],
  {
    survey_id: surveyId,
    as_of: timestamptz('Up to when interviews started, server time'),
    day: date('The day of fieldwork that ended then, in the time zone of the settings'),
    ...PROGRESS_FIELDS,
    read_at: timestamptz('When these indicators were read, server time'),
  },
  ofSurvey,
)

export const surveyForecasts = main(
  'survey_forecasts',
  'The forecast of each survey in fieldwork below its target, as it was after each run; one row per survey and day',
  ['survey_id', 'day'],
  {
    survey_id: surveyId,
    day: date('The last known day of fieldwork when the forecast was made'),
    made_at: timestamptz('When the progress was read from which it was made, server time'),
    interviews_count: bigint('Complete interviews by then'),
    sample_size: bigint('The target by then'),
    per_day: double.orNull('The pace by then'),
    expected_on: date.orNull('Day on which the target was expected to be reached; null without a forecast'),
    expected_from: date.orNull('First day of its 80 % interval'),
    expected_to: date.orNull('Last day of its 80 % interval'),
  },
  ofSurvey,
)

/** The rules of `accounts[].exclude`. */
export const EXCLUDED_BY = ['status', 'id', 'project'] as const

export const freshness = main(
  'freshness',
  'As of when each survey is known; one row per survey',
  ['survey_id'],
  {
    survey_id: surveyId,
    listed_at: timestamptz.orNull('When the survey was last seen in a listing, server time'),
    unlisted_since: timestamptz.orNull(
      'When a full listing first did not show the survey, server time; null = the last listings show it. If refreshed_at is later, the list leaves it out, but it still answers',
    ),
    sources_left_out: bigint.orNull(
      'How many known sources the last complete list of its sources lacks although they still answer; null = none',
    ),
    unlisted_source_ids: varchar.orNull(
      'Ids of the known sources that this list lacks and that are not marked as missing, as JSON; null = none',
    ),
    refreshed_at: timestamptz.orNull(
      'When its progress was last read, server time; null = never. Its sources were read then, or list and progress had not changed, unless last_error says otherwise',
    ),
    progress_day: date.orNull(
      'The last day of fieldwork of which its progress is known: that of refreshed_at, if half of the day had passed by then; null = never read',
    ),
    sources_read_at: timestamptz.orNull(
      'When its list of sources was last read, server time; null = never, or since then one could not be typed, or the list was not answered. If several runs read the survey in parts, when the first of them began',
    ),
    sources_listed_at: timestamptz.orNull(
      'When its list of sources was last read, even if one could not be typed, server time; null = never',
    ),
    source_progress_read_at: timestamptz.orNull(
      'When the progress of every source was last read, server time; null = never, or one could not be typed since, or several runs read the survey in parts. Unless it is null, the progress of the sources is known as of refreshed_at: after it, neither list nor progress had changed',
    ),
    days_read_at: timestamptz.orNull(
      'When its own days in survey_progress_by_day were last read, not just known to be unchanged, server time; null = never, or they may be out of date',
    ),
    source_days_read_at: timestamptz.orNull(
      'The same as days_read_at for the days of its sources; null also if the settings exclude them now, or not all could be read',
    ),
    last_error: varchar.orNull(
      'Why the last attempt to read sources and progress failed; null if it succeeded',
    ),
    excluded_by: nullable(
      varcharOf(EXCLUDED_BY, 'By what accounts[].exclude keeps it from being read; null = not'),
    ),
  },
)

export const PLAN_FIELDS = {
  survey_id: bigint.orNull(
    'ID of the survey that the line is about, or that its sources belong to; null = not given',
  ),
  project_id: varchar.orNull(
    'Project that the line is about, or that its sources belong to, as in surveys.project_id; null = not given, or the line names a survey or the ID of a source',
  ),
  sample_source_id: bigint.orNull('ID of the sample source that the line is about; null = not given'),
  source: varchar.orNull(
    'Name of the sample sources that the line is about, in which * is any text; null = not given, or the line has the ID of a source',
  ),
  due_on: date.orNull('Last day on which the survey may reach its target, in the time zone of the settings'),
  starts_on: date.orNull('Day on which fieldwork is to start'),
  incidence: double.orNull('Incidence that was sold, above 0 and up to 1'),
  loi_minutes: double.orNull('Length of interview that was sold, minutes'),
  cpi: double.orNull('Cost of a complete interview, in currency'),
  currency: varchar.orNull('Currency of cpi, ISO 4217; null without cpi'),
  supplier: varchar.orNull('Supplier of the sources; null in lines about surveys and projects'),
  owner: varchar.orNull('Mail address of the person who is responsible for the survey'),
  quiet_until: date.orNull('Last day on which nobody needs to look at the survey'),
  note: varchar.orNull('Note of the line'),
  line: bigint('Number of the line in the file; the first line names the columns'),
}
export type PlanLine = { readonly account: string } & RowOf<typeof PLAN_FIELDS>

export const plan = main(
  'plan',
  'What was planned and sold, from the file of the setting `plan`; one row per line about a survey, a project or sources. Each sync replaces all rows',
  ['survey_id', 'project_id', 'sample_source_id', 'source'],
  PLAN_FIELDS,
)

/** The four tables of API fields, each with its history table. */
export const DATA_TABLES = [surveys, sampleSources, surveyProgress, sampleSourceProgress] as const
export const HISTORY_TABLES = [
  surveysHistory,
  sampleSourcesHistory,
  surveyProgressHistory,
  sampleSourceProgressHistory,
] as const
