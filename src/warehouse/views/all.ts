/** Every view, in the order of creation: a view comes after the views that it reads. */
import { z } from 'zod'
import { ALL_TABLES } from '../../model/sync-tables.js'
import { varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { createTemporary, quote } from '../connection/ddl.js'
import { isStatementFault } from '../connection/duckdb-error.js'
import { forecastAccuracy } from './forecast-accuracy.js'
import { goodNews } from './good-news.js'
import { interviewStatusCounts } from './interview-status-counts.js'
import { needsAction } from './needs-action.js'
import { sourceOverview, surveyOverview, surveysToday } from './overviews.js'
import { progressDaily, sourceProgressDaily } from './progress-daily.js'
import { sampleSourceProgressPeriods, surveyProgressPeriods } from './progress-periods.js'
import { recordChanges, surveyStatusChanges } from './record-changes.js'
import { activeSourcePace, sampleSourcePace } from './sample-source-pace.js'
import { activeSurveyPace, surveyPace } from './survey-pace.js'
import { sampleSourcePeriods, surveyPeriods } from './version-periods.js'
import type { ViewDeclaration } from './view-declaration.js'

export const ALL_VIEWS: readonly ViewDeclaration[] = [
  surveyOverview,
  interviewStatusCounts,
  surveyStatusChanges,
  surveyProgressPeriods,
  progressDaily,
  sampleSourceProgressPeriods,
  sourceProgressDaily,
  surveyPeriods,
  sampleSourcePeriods,
  sampleSourcePace,
  activeSourcePace,
  surveyPace,
  activeSurveyPace,
  forecastAccuracy,
  sourceOverview,
  recordChanges,
  needsAction,
  goodNews,
  surveysToday,
]

/**
 * Runs `work` while temporary views hide the stored ones: Parquet has no views, and a file of another program may have other views. The
 * views in `evaluated` become tables, so each is evaluated once, also if several views or statements read it. A table that an older state
 * lacks is empty, and a view is left out if the state lacks its columns.
 */
export const withTemporaryViews = async <Result>(
  sql: Sql,
  views: readonly { readonly name: string; readonly sql: string }[],
  evaluated: readonly string[],
  work: () => Promise<Result>,
): Promise<Result> => {
  const stored = await sql.rows(
    z.object({ name: varcharCell }),
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'main'`,
  )
  const lacking = ALL_TABLES.filter(
    ({ schema, name }) => schema === 'main' && !stored.some((table) => table.name === name),
  )
  const drops: string[] = []
  try {
    for (const { name, columns } of lacking) {
      await sql.run(createTemporary(name, columns))
      drops.unshift(`DROP TABLE temp.${quote(name)}`)
    }
    for (const view of views) {
      const [kind, name] = [evaluated.includes(view.name) ? 'TABLE' : 'VIEW', quote(view.name)]
      const isCreated = await sql.run(`CREATE OR REPLACE TEMP ${kind} ${name} AS ${view.sql}`).then(
        () => true,
        (error: unknown) => {
          if (!isStatementFault(error)) throw error
          return false
        },
      )
      if (isCreated) drops.unshift(`DROP ${kind} temp.${name}`)
    }
    return await work()
  } finally {
    // A table or view that cannot be dropped is replaced by the next one, or ends with the connection.
    for (const drop of drops) await sql.run(drop).catch(() => undefined)
  }
}
