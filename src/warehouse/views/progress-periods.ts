/**
 * Progress as step functions: each row of the history with the time of its end, and the time until which it is known to have held. In
 * compacted history a row holds until the beginning of the day of the next row, because other observations of that day were removed
 * (docs/decisions/warehouse.md#0035-views-derive-how-long-a-row-held).
 */
import { columnsOf, type TableDeclaration, timestamptz } from '../../model/columns.js'
import {
  ofSource,
  ofSurvey,
  sampleSourceProgress,
  sampleSourceProgressHistory,
  surveyProgress,
  surveyProgressHistory,
  surveyProgressReconstructed,
} from '../../model/tables.js'
import { clockAt, fieldworkDayOf, utcDayStart } from '../history/days.js'
import { listed, type ViewDeclaration } from './view-declaration.js'

export interface Observations extends Required<Pick<ViewDeclaration, 'name' | 'comment' | 'references'>> {
  readonly current: TableDeclaration
  readonly history: TableDeclaration
  readonly versions: string
  /** The key of these records, in the order of the key of the progress. */
  readonly versionKey: readonly string[]
  /** SQL for the time at which the current observation was last read again and found equal. */
  readonly readAgainAt: string
  /** SQL for the day of fieldwork of that reading. */
  readonly readAgainOn: string
  /** SQL for the last day of a record `p` that went missing, where its survey is read on after that. */
  readonly shownUntil?: string
  readonly joins: string
  /** The table of reconstructed observations before the first reading. */
  readonly reconstructed?: TableDeclaration
}

const progressPeriods = ({ name, comment, references, ...observations }: Observations): ViewDeclaration => ({
  schema: 'main',
  name,
  comment,
  references,
  key: observations.history.key,
  columns: [
    ...observations.history.columns,
    ...columnsOf({
      ended_at: timestamptz.orNull(
        'When the next indicators were first read, or the record was found missing, server time; null = current',
      ),
      confirmed_until: timestamptz(
        'Until when these indicators are known to have held, server time: ended_at; for current ones, when they were last found equal; in compacted history, the beginning of the day of the next ones',
      ),
    }),
  ],
  sql: `WITH ${periodSteps(observations, `main.${observations.history.name}`)}
SELECT
  ${listed(observations.history.columns)},
  ended_at,
  confirmed_until
FROM periods`,
})

/**
 * Steps that end with `periods`: the step function of `rows`, which are history or the last rows of each record in it, with `ended_at` and
 * `confirmed_until`. If a version ended and no next version began at that moment, the record went missing. The progress history does not
 * show this, and the current row no longer shows it after the record came back.
 */
export const periodSteps = (
  {
    current,
    versions,
    versionKey,
    readAgainAt,
    joins,
  }: Omit<Observations, 'name' | 'comment' | 'references'>,
  rows: string,
): string => {
  const { key } = current
  const isSame = (left: string, right: string, names: readonly string[]) =>
    key.map((name, index) => `${left}.${name} = ${right}.${names[index]}`).join(' AND ')
  return `versions AS (
  SELECT *, lead(valid_from) OVER (PARTITION BY ${versionKey.join(', ')} ORDER BY valid_from ASC) AS next_from
  FROM main.${versions}
),
gaps AS (
  SELECT ${versionKey.join(', ')}, valid_to AS missing_at
  FROM versions
  WHERE valid_to IS NOT NULL AND next_from IS DISTINCT FROM valid_to
),
observed AS (
  SELECT
    *,
    lead(observed_at) OVER following AS next_at,
    lead("day") OVER following AS next_day,
    lead(day_before) OVER following AS day_before_next
  FROM ${rows}
  WINDOW following AS (PARTITION BY ${key.join(', ')} ORDER BY observed_at ASC)
),
-- Few records ever go missing, so this has few rows.
missing_ends AS (
  SELECT ${key.map((name) => `o.${name}`).join(', ')}, o.observed_at, min(g.missing_at) AS missing_at
  FROM ${rows} o
  JOIN gaps g ON ${isSame('o', 'g', versionKey)} AND o.observed_at <= g.missing_at
  GROUP BY ALL
),
ended AS (
  SELECT o.*, least(o.next_at, g.missing_at, CASE WHEN o.next_at IS NULL THEN t._missing_since END) AS ended_at
  FROM observed o
  LEFT JOIN missing_ends g ON ${isSame('o', 'g', key)} AND o.observed_at = g.observed_at
  LEFT JOIN main.${current.name} t ON ${isSame('o', 't', key)}
),
periods AS (
  SELECT
    o.*,
    CASE
      WHEN o.ended_at IS NULL THEN greatest(o.observed_at, ${readAgainAt})
      WHEN o.next_at < c.compacted_before
        THEN greatest(o.observed_at, least(o.ended_at, ${utcDayStart('o.next_day')}))
      ELSE o.ended_at
    END AS confirmed_until
  FROM ended o
  LEFT JOIN _sync.compactions c ON c.account = o.account
  LEFT JOIN main.freshness f ON f.account = o.account AND f.survey_id = o.survey_id${joins}
)`
}

/**
 * Steps that end with `known_periods`: `periods` with `last_day`, the last day of fieldwork on which the progress is known. The last
 * observation of a day stands for the day, so the `last_day` of a row that was replaced on its first day is the day before.
 */
export const knownDaySteps = ({
  readAgainOn,
  shownUntil,
}: Pick<Observations, 'readAgainOn' | 'shownUntil'>): string => `last_readings AS (
  SELECT
    p.*,
    f.progress_day,
    CASE WHEN p.next_at IS NULL THEN ${readAgainOn} ELSE p.day_before_next END AS read_until
  FROM periods p
  LEFT JOIN main.freshness f ON f.account = p.account AND f.survey_id = p.survey_id
),
shown_readings AS (
  ${shownUntil === undefined ? NEVER_HIDDEN : hiddenAfter(shownUntil)}
),
known_periods AS (
  SELECT *, least(greatest("day", least(read_until, shown_until)), next_day - 1) AS last_day
  FROM shown_readings
)`

const NEVER_HIDDEN = `SELECT *, CAST(NULL AS DATE) AS shown_until
  FROM last_readings`

const hiddenAfter = (shownUntil: string): string =>
  `SELECT p.*, CASE WHEN p.ended_at < coalesce(p.next_at, TIMESTAMPTZ 'infinity') THEN ${shownUntil} END AS shown_until
  FROM last_readings p
  ${clockAt('p.ended_at')}`

/** A refresh whose progress could not be typed confirms nothing. */
const REJECTED = `
  LEFT JOIN (
    SELECT DISTINCT account, survey_id, rejected_at
    FROM _sync.rejected_rows
    WHERE endpoint = 'fieldwork_progress' AND sample_source_id IS NULL AND day IS NULL
  ) r ON r.account = f.account AND r.survey_id = f.survey_id AND r.rejected_at = f.refreshed_at`

export const surveyObservations: Observations = {
  name: 'survey_progress_periods',
  comment:
    'Fieldwork progress of whole surveys as a step function: survey_progress_history, and until when each row is known to have held',
  current: surveyProgress,
  history: surveyProgressHistory,
  references: ofSurvey,
  versions: 'surveys_history',
  versionKey: ['account', 'id'],
  readAgainAt: 'CASE WHEN r.account IS NULL THEN f.refreshed_at END',
  readAgainOn: 'f.progress_day',
  joins: REJECTED,
  reconstructed: surveyProgressReconstructed,
}
export const surveyProgressPeriods = progressPeriods(surveyObservations)

const sourceObservations: Observations = {
  name: 'sample_source_progress_periods',
  comment:
    'Fieldwork progress of sample sources as a step function: sample_source_progress_history, and until when each row is known to have held',
  current: sampleSourceProgress,
  history: sampleSourceProgressHistory,
  references: ofSource('sample_source_id'),
  versions: 'sample_sources_history',
  versionKey: ['account', 'survey_id', 'id'],
  readAgainAt: 'f.source_progress_read_at',
  readAgainOn: 'CASE WHEN f.source_progress_read_at IS NOT NULL THEN f.progress_day END',
  // The reading that no longer showed it belongs to the day after.
  shownUntil: `${fieldworkDayOf('p.ended_at')} - 1`,
  joins: '',
}
export const sampleSourceProgressPeriods = progressPeriods(sourceObservations)

/**
 * As `sourceObservations`, but a source also counts as unchanged while the list of sources and the progress of its survey are unchanged.
 */
export const inferredSourceObservations: Observations = {
  ...sourceObservations,
  readAgainAt: `CASE WHEN f.source_progress_read_at IS NOT NULL THEN f.refreshed_at END`,
}
