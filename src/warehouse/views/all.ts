/** Every view, in the order of creation: a view comes after the views that it reads. */
import { z } from 'zod'
import { ALL_TABLES } from '../../model/sync-tables.js'
import { varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { createTemporary, quote } from '../connection/ddl.js'
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
 * Creates views of this version as temporary ones, which hide those of the file: Parquet has none, and an older version has others. A
 * table that the older version lacks is empty. Those in `computedOnce` are tables. Resolves to what drops them all.
 */
export const createTemporaryViews = async (
  sql: Sql,
  views: readonly ViewDeclaration[] = ALL_VIEWS,
  computedOnce: readonly string[] = [],
): Promise<() => Promise<void>> => {
  const stored = await sql.rows(
    z.object({ name: varcharCell }),
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'main'`,
  )
  const lacking = ALL_TABLES.filter(
    ({ schema, name }) => schema === 'main' && !stored.some((one) => one.name === name),
  )
  const names = [...lacking, ...ALL_VIEWS].map(({ name }) => name).join('|')
  const kindOf = (name: string) => (computedOnce.includes(name) ? 'TABLE' : 'VIEW')
  for (const { name, columns } of lacking) await sql.run(createTemporary(name, columns))
  for (const view of views) {
    const select = view.sql.replaceAll(new RegExp(`\\bmain\\.(${names})\\b`, 'g'), 'temp.$1')
    await sql.run(`CREATE OR REPLACE TEMP ${kindOf(view.name)} ${view.name} AS ${select}`)
  }
  return async () => {
    for (const { name } of views.toReversed()) await sql.run(`DROP ${kindOf(name)} temp.${name}`)
    for (const { name } of lacking) await sql.run(`DROP TABLE temp.${quote(name)}`)
  }
}
