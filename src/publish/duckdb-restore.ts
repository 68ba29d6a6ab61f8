/** Fills an empty work database from `fieldwork.duckdb`. */
import { stat } from 'node:fs/promises'
import { z } from 'zod'
import { hasCode } from '../base/errors.js'
import { publishedPath } from '../model/publish-formats.js'
import { bigintCell } from '../warehouse/connection/cells.js'
import type { Database, Sql } from '../warehouse/connection/database.js'
import { literal } from '../warehouse/connection/ddl.js'
import type { FindPublished, PublishedState } from '../warehouse/lifecycle/rebuild.js'

export const findPublishedFile =
  (directory: string): FindPublished =>
  async (database) => {
    const path = publishedPath(directory, 'duckdb')
    return (await isFile(path)) ? [{ path, what: 'the published file', ...stateInFile(database, path) }] : []
  }

/** The state in a database file, from which the empty `database` can be filled. */
export const stateInFile = (database: Database, path: string): Pick<PublishedState, 'countRuns' | 'fill'> => {
  const attached = <Result>(work: (sql: Sql) => Promise<Result>) =>
    database.exclusively(async (sql) => {
      await sql.run(`ATTACH ${literal(path)} AS published (READ_ONLY)`)
      try {
        return await work(sql)
      } finally {
        await sql.run('DETACH published')
      }
    })
  return {
    countRuns: () =>
      attached(async (sql) => {
        const [row] = await sql.rows(
          z.object({ runs: bigintCell }),
          'SELECT count(*) AS runs FROM published._sync.runs',
        )
        return row?.runs ?? 0
      }),
    fill: () => attached((sql) => sql.run('COPY FROM DATABASE published TO "work"')),
  }
}

/** False if nothing exists at `path`. Throws if it is not a file: opening a pipe, for example, would never end. */
const isFile = async (path: string): Promise<boolean> => {
  try {
    if (!(await stat(path)).isFile()) throw new Error('it is not a file')
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}
