/** Every view, in the order of creation: a view comes after the views that it reads. */
import type { Sql } from '../connection/database.js'
import { isStatementFault } from '../connection/duckdb-error.js'
import { interviewStatusCounts } from './interview-status-counts.js'
import { needsAction } from './needs-action.js'
import { sourceOverview, surveyOverview, surveysToday } from './overviews.js'
import { sampleSourcePace, surveyPace } from './pace.js'
import { progressDaily, sourceProgressDaily } from './progress-daily.js'
import { sampleSourceProgressPeriods, surveyProgressPeriods } from './progress-periods.js'
import { recordChanges, surveyStatusChanges } from './record-changes.js'
import { sampleSourcePeriods, surveyPeriods } from './version-periods.js'
import { defineView, type ViewDeclaration } from './view-declaration.js'

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
  surveyPace,
  sampleSourcePace,
  sourceOverview,
  recordChanges,
  needsAction,
  surveysToday,
]

/**
 * Published Parquet holds no views. This creates all, because views read other views. A view that an older state lacks the columns
 * for is left out.
 */
export const createViews = async (sql: Sql): Promise<void> => {
  for (const statement of ALL_VIEWS.map(defineView))
    await sql.run(statement).catch((error: unknown) => {
      if (!isStatementFault(error)) throw error
    })
}

/**
 * The SELECT of a temporary view, which hides that of the file. It reads the views of this version, which Parquet and a file of an older
 * version lack.
 */
export const temporarySql = ({ sql }: ViewDeclaration): string => sql.replaceAll(A_VIEW, 'temp.$1')

const A_VIEW = new RegExp(`\\bmain\\.(${ALL_VIEWS.map(({ name }) => name).join('|')})\\b`, 'g')
