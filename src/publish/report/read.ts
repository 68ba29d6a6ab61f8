/** Reads the rows of every query from one state. It creates only temporary views and tables, so the database may be read-only. */
import { group } from 'd3-array'
import { z } from 'zod'
import type { Sql } from '../../warehouse/connection/database.js'
import { quote } from '../../warehouse/connection/ddl.js'
import { hoursBefore } from '../../warehouse/history/days.js'
import { NUMBERED_RUNS } from '../../warehouse/history/runs.js'
import { ALL_VIEWS, withTemporaryViews } from '../../warehouse/views/all.js'
import { needsAction } from '../../warehouse/views/needs-action.js'
import { sourceOverview, sourceOverviewSql } from '../../warehouse/views/overviews.js'
import { sampleSourcePace, sourcePaceSql } from '../../warehouse/views/sample-source-pace.js'
import { CLOSED } from '../../warehouse/views/statuses.js'
import { activeSurveyPace, surveyPace, surveyPaceSql } from '../../warehouse/views/survey-pace.js'
import { overview } from './queries/overview.js'
import { NEWEST, type Query, RECENT_HOURS, sqlOf } from './queries/query.js'
import { run } from './queries/run.js'
import { dayRow, survey } from './queries/survey.js'
import { day, maybe } from './rows.js'
import { createShownRows } from './shown-rows.js'

/** In the order in which the documentation lists them. */
export const ALL_QUERIES: readonly Query[] = [overview, survey, run].flatMap((of) => Object.values<Query>(of))

/** The active and the recently changed surveys. The page shows no others. */
const RECENT = 'report_recent_surveys'
const RECENT_SURVEYS = `SELECT account, id AS survey_id FROM main.surveys WHERE status NOT IN ${CLOSED}
UNION
SELECT c.account, c.survey_id
FROM main.survey_status_changes c
JOIN ${NEWEST} n ON n.account = c.account
WHERE c.from_status IS NOT NULL AND epoch_us(c.observed_at) > ${hoursBefore('n.newest_at', RECENT_HOURS)}`

const OF_RECENT = `
  SEMI JOIN (FROM temp.${RECENT}) USING (account, survey_id)`

/** The surveys that may have a section. */
const SHOWN = 'report_surveys'

/** The sections alone show the pace of sources, so of closed surveys it is evaluated for those that have a section. */
const SHOWN_SOURCE_PACE = `FROM main.active_source_pace
UNION ALL (
${sourcePaceSql(`\n  SEMI JOIN (FROM temp.${SHOWN} WHERE status IN ${CLOSED}) USING (account, survey_id)`)}
)`

/** Pace and sources are evaluated only for the surveys of the page. `active_survey_pace` reads its rows from the evaluated `survey_pace`. */
const VIEWS = ALL_VIEWS.flatMap((view) => {
  if (view === sampleSourcePace || view === surveyPace || view === needsAction) return []
  if (view === sourceOverview) return [{ name: view.name, sql: sourceOverviewSql(OF_RECENT) }]
  if (view !== activeSurveyPace) return [view]
  return [
    { name: RECENT, sql: RECENT_SURVEYS },
    { name: surveyPace.name, sql: surveyPaceSql(OF_RECENT) },
    { name: view.name, sql: `FROM main.survey_pace WHERE status NOT IN ${CLOSED}` },
    needsAction,
    { name: SHOWN, sql: sqlOf(survey.surveys) },
    { name: sampleSourcePace.name, sql: SHOWN_SOURCE_PACE },
  ]
})

/** Views that several queries read. */
const EVALUATED = [
  'active_source_pace',
  RECENT,
  'survey_pace',
  SHOWN,
  'sample_source_pace',
  'source_overview',
  'record_changes',
  'needs_action',
]
/** Rows of the history of a survey that its section shows. */
const HISTORY_ROWS = 12

type RowsQuery<Shape extends z.ZodRawShape> = Query & { readonly row: z.ZodObject<Shape> }

export type ReportRows = Awaited<ReturnType<typeof readReport>>

/** Call it in a transaction, so that all rows are of one state. */
export const readReport = (sql: Sql) => withTemporaryViews(sql, VIEWS, EVALUATED, () => readQueries(sql))

const readQueries = async (sql: Sql) => {
  const { shown, unshown } = createShownRows()
  const rowsOf = async <Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>, statement: string) =>
    shown(schema, await sql.rows(z.unknown(), statement))
  const read = <Shape extends z.ZodRawShape>({ row, ...query }: RowsQuery<Shape>) =>
    rowsOf(
      row,
      // A file of an older version has no numbers of runs, so they are computed.
      `SELECT ${cellsOf(row)} FROM (\n${sqlOf(query).replaceAll('_sync.runs', NUMBERED_RUNS)}\n) q ORDER BY ${query.order}`,
    )
  /** Only rows of surveys with a section that fit `condition`. */
  const readShown = <Shape extends z.ZodRawShape>({ row, ...query }: RowsQuery<Shape>, condition = '') =>
    rowsOf(
      row,
      `SELECT ${cellsOf(row)} FROM (\n${query.select}\n) q SEMI JOIN temp.${SHOWN} USING (account, survey_id) ${condition} ORDER BY ${query.order}`,
    )
  const rows = {
    asOf: await read(overview.asOf),
    totals: await read(overview.totals),
    quiet: new Map((await read(overview.quiet)).map((row) => [keyOf(row), row])),
    inField: await read(overview.inField),
    goodNews: await read(overview.goodNews),
    accuracy: await read(overview.accuracy),
    needsAction: await read(overview.needsAction),
    changeCounts: await read(overview.changeCounts),
    changes: await read(overview.changes),
    timeline: await read(overview.timeline),
    besideField: await read(overview.besideField),
    surveys: await rowsOf(
      survey.surveys.row,
      `SELECT ${cellsOf(survey.surveys.row)} FROM temp.${SHOWN} q ORDER BY ${survey.surveys.order}`,
    ),
    curves: group(await rowsOf(dayRow, thinnedDays(`temp.${SHOWN}`)), keyOf),
    interviews: group(await readShown(survey.interviews), keyOf),
    sources: group(await readShown(survey.sources), keyOf),
    quality: group(await readShown(survey.quality), keyOf),
    history: group(await readShown(survey.history, NEWEST_CHANGES), keyOf),
    runs: await read(run.runs),
    requests: await read(run.requests),
    queue: await read(run.queue),
    problems: await read(run.problems),
  }
  return { ...rows, unshown: unshown() }
}

const OF_SURVEY = 'PARTITION BY account, survey_id'
const NEWEST_CHANGES = `QUALIFY row_number() OVER (${OF_SURVEY} ORDER BY ${survey.history.order}) <= ${HISTORY_ROWS}`

/** The columns of the rows. DuckDB's client has a type of its own for days, so they are read as text. */
const cellsOf = (schema: z.ZodObject): string =>
  Object.entries(schema.shape)
    .map(([name, type]) =>
      type === day || type === maybe.day
        ? `CAST(q.${quote(name)} AS VARCHAR) AS ${quote(name)}`
        : `q.${quote(name)}`,
    )
    .join(', ')

export interface SurveyKey {
  readonly account: string
  readonly survey_id: number
}

/** Identifies a survey on the page: `#default/12`. Names of accounts have only letters, digits, _ and -. */
export const keyOf = ({ account, survey_id }: SurveyKey): string => `${account}/${survey_id}`

// A year has hundreds of observations per survey; a curve needs some dozens.

/** Each of the last days has a point of its own, as the sparkline shows them. */
export const LAST_DAYS = 28
/** Earlier days are thinned out to this many points. */
const EARLIER_POINTS = 24

/** Number of a day since 1970. */
const numberOf = (day: string): string => `${day} - DATE '1970-01-01'`

const KEY = ['account', 'survey_id', 'day']
const values = Object.keys(dayRow.shape).filter((name) => !KEY.includes(name))

/**
 * The curves of the surveys in the table `shown`: chosen days from the first observation to the last reading, each with the observation
 * that held at its end. A reconstructed observation is known on its own day only.
 */
export const thinnedDays = (shown: string): string => `WITH observations AS (
${survey.observations.select}
), last_observations AS (
  SELECT * REPLACE (${numberOf('day')} AS day) FROM observations SEMI JOIN ${shown} USING (account, survey_id)
  QUALIFY row_number() OVER (PARTITION BY account, survey_id, day ORDER BY observed_at DESC) = 1
), spans AS (
  SELECT o.account, o.survey_id, greatest(any_value(${numberOf('f.progress_day')}), max(o.day)) AS last_day, last_day - min(o.day) AS age
  FROM last_observations o JOIN freshness f USING (account, survey_id) GROUP BY ALL
), steps AS (
  SELECT *, greatest(1, (age - ${LAST_DAYS}) // ${EARLIER_POINTS}) AS step FROM spans
), days AS (
  SELECT account, survey_id,
    last_day - unnest(range(least(age, ${LAST_DAYS}) + 1) || range(${LAST_DAYS} + step, age + 1, step)) AS day
  FROM steps
)
SELECT d.account, d.survey_id, d.day, ${values.map((name) => `o.${name}`).join(', ')}
FROM days d
ASOF JOIN last_observations o ON o.account = d.account AND o.survey_id = d.survey_id AND d.day >= o.day
WHERE NOT o.is_reconstructed OR d.day = o.day
ORDER BY d.account, d.survey_id, d.day`
