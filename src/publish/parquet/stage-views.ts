/** Evaluates views for a publish and for its proof: each once, also those that several others read. */
import { surveys } from '../../model/tables.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { quote } from '../../warehouse/connection/ddl.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import type { ViewDeclaration } from '../../warehouse/views/view-declaration.js'
import { PUBLISHED_TABLES, type PublishedTable } from './tables.js'

/**
 * Runs `work` while temporary tables hold the rows of the views. DuckDB finds what is temporary before what is stored under the same name,
 * so `work` and later views read these rows. For the default list this takes a third of the CPU.
 */
export const withStagedViews = async <Result>(
  sql: Sql,
  published: readonly PublishedTable[],
  work: () => Promise<Result>,
): Promise<Result> => {
  const views = withSources(published.flatMap(({ view }) => view ?? []))
  const staged: string[] = []
  try {
    for (const view of views) {
      const readers = views.filter((other) => reads(other, view)).length
      const isEvaluated = readers > 1 || published.some((table) => table.view === view)
      const [kind, name] = [isEvaluated ? 'TABLE' : 'VIEW', quote(view.name)]
      await sql.run(`CREATE OR REPLACE TEMP ${kind} ${name} AS ${view.sql}`)
      staged.unshift(`DROP ${kind} temp.${name}`)
    }
    return await work()
  } finally {
    // What cannot be dropped is replaced by the next one, and ends with the connection.
    for (const drop of staged) await sql.run(drop).catch(() => undefined)
  }
}

const reads = (
  { sql }: ViewDeclaration,
  { schema, name }: Pick<PublishedTable['declaration'], 'schema' | 'name'>,
): boolean => new RegExp(`\\b${schema}\\.${name}\\b`).test(sql)

/** The tables that decide about the rows of a view and their partitions. */
export const tablesOf = ({ view }: PublishedTable): readonly PublishedTable[] => {
  const views = view === null ? [] : withSources([view])
  return PUBLISHED_TABLES.filter(
    ({ declaration }) => declaration === surveys || views.some((one) => reads(one, declaration)),
  )
}

/** The views and those that they read, in the order of creation. */
const withSources = (views: readonly ViewDeclaration[]): readonly ViewDeclaration[] => {
  const found = new Set(views)
  // A set that grows is iterated to its end.
  for (const view of found) for (const other of ALL_VIEWS) if (reads(view, other)) found.add(other)
  return ALL_VIEWS.filter((view) => found.has(view))
}
