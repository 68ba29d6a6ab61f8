/** Evaluates views for a publish and for its proof: each once, also those that several others read. */
import type { Sql } from '../../warehouse/connection/database.js'
import { quote } from '../../warehouse/connection/ddl.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import type { ViewDeclaration } from '../../warehouse/views/view-declaration.js'
import type { PublishedTable } from './tables.js'

/**
 * Runs `work` while temporary tables hold the rows of the views. DuckDB finds a temporary table before a view of the same name, so `work`
 * and later views read those rows. The five views of the default then take a third of the CPU.
 */
export const withStagedViews = async <Result>(
  sql: Sql,
  views: readonly PublishedTable[],
  work: () => Promise<Result>,
): Promise<Result> => {
  const staged: ViewDeclaration[] = []
  try {
    for (const view of withSources(views)) {
      await sql.run(`CREATE OR REPLACE TEMP TABLE ${quote(view.name)} AS ${view.sql}`)
      staged.push(view)
    }
    return await work()
  } finally {
    // A table that cannot be dropped is replaced by the next one, and ends with the connection.
    for (const { name } of staged) await sql.run(`DROP TABLE temp.${quote(name)}`).catch(() => undefined)
  }
}

/** The views and those that they read, in the order of creation. */
const withSources = (views: readonly PublishedTable[]): readonly ViewDeclaration[] => {
  const found = new Set(views.flatMap(({ view }) => view ?? []))
  // A set that grows is iterated to its end.
  for (const { sql } of found)
    for (const other of ALL_VIEWS) if (new RegExp(`\\bmain\\.${other.name}\\b`).test(sql)) found.add(other)
  return ALL_VIEWS.filter((view) => found.has(view))
}
