/** Evaluates views for a publish and for its proof. A view that several others read is also evaluated only once. */
import { surveys } from '../../model/tables.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { ALL_VIEWS, withTemporaryViews } from '../../warehouse/views/all.js'
import type { ViewDeclaration } from '../../warehouse/views/view-declaration.js'
import { CHANGED_COLUMNS, CHANGED_TABLE, ofEvaluated, stageEvaluated } from './sql.js'
import {
  isOfSurveys,
  type Partition,
  PUBLISHED_TABLES,
  type PublishedTable,
  type PublishedView,
  UNKNOWN_MONTH,
} from './tables.js'

/** Runs `work` while temporary tables hold the rows of the views. For the default list this takes a third of the CPU. */
export const withStagedViews = <Result>(
  sql: Sql,
  published: readonly PublishedTable[],
  work: () => Promise<Result>,
): Promise<Result> => {
  const views = withSources(published.flatMap(({ view }) => view ?? []))
  const evaluated = views.filter(
    (view) =>
      published.some((table) => table.view === view) ||
      views.filter((other) => reads(other, view)).length > 1,
  )
  return withTemporaryViews(
    sql,
    views,
    evaluated.map(({ name }) => name),
    work,
  )
}

/** Runs `work` while a temporary table holds the rows of a view in these partitions, and perhaps rows in others. */
export const withStagedPartitions = async <Result>(
  sql: Sql,
  view: PublishedView,
  partitions: readonly Partition[],
  work: () => Promise<Result>,
): Promise<Result> => {
  const tables = tablesOf(view).filter(isOfSurveys)
  await stagePartitions(sql, partitions)
  await sql.run(stageEvaluated(hasUnknownMonth(partitions) ? tables : []))
  const views = withSources([view.view]).map((one) => ({ ...one, sql: ofEvaluated(one.sql, tables) }))
  return await withTemporaryViews(sql, views, [view.view.name], work)
}

export const stagePartitions = (sql: Sql, partitions: readonly Partition[]): Promise<void> =>
  sql.stage(
    CHANGED_TABLE,
    CHANGED_COLUMNS,
    partitions.map(({ account, created_month }, index) => ({
      account,
      created_month,
      partition_index: index,
    })),
  )

export const hasUnknownMonth = (partitions: readonly Partition[]): boolean =>
  partitions.some(({ created_month }) => created_month === UNKNOWN_MONTH)

const reads = (
  { sql }: ViewDeclaration,
  { schema, name }: Pick<PublishedTable['declaration'], 'schema' | 'name'>,
): boolean => new RegExp(`\\b${schema}\\.${name}\\b`).test(sql)

/** The tables on which the rows of a view and their partitions depend. */
export const tablesOf = ({ view }: PublishedTable): readonly PublishedTable[] => {
  const views = view === null ? [] : withSources([view])
  return PUBLISHED_TABLES.filter(
    ({ declaration }) => declaration === surveys || views.some((view) => reads(view, declaration)),
  )
}

/** The views, and the views that they read, in the order of creation. */
const withSources = (views: readonly ViewDeclaration[]): readonly ViewDeclaration[] => {
  const needed = new Set(views)
  // The iteration of a set also visits elements that are added during it.
  for (const view of needed) for (const other of ALL_VIEWS) if (reads(view, other)) needed.add(other)
  return ALL_VIEWS.filter((view) => needed.has(view))
}
