/** Reads a DuckDB file without any code of ours: plain SQL, values as JSON (instants as ISO 8601 in UTC). */
import { DuckDBInstance, type DuckDBResultReader, DuckDBTimestampTZValue } from '@duckdb/node-api'
import pLimit from 'p-limit'
import { formatInstant } from '../../../src/model/instant.js'

export type Row = Readonly<Record<string, unknown>>

export interface Reader extends Disposable {
  query(sql: string): Promise<Row[]>
}

/** Opens a file read-only, or `:memory:` to read other files, for several queries on the same state. */
export const openReader = async (file: string): Promise<Reader> => {
  const instance = await DuckDBInstance.create(file, {
    // For a handful of rows, a second thread costs more than it gains.
    threads: '1',
    ...(file === ':memory:' ? {} : { access_mode: 'READ_ONLY' }),
  })
  const connection = await instance.connect().catch((error: unknown) => {
    instance.closeSync()
    throw error
  })
  return {
    query: async (sql) => plainRows(await connection.runAndReadAll(sql)),
    [Symbol.dispose]: () => {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

/**
 * Runs one query on a file that is attached read-only for it. The instance stays open, because a new one for each query costs twice
 * as much. One file at a time is attached, because DuckDB attaches no file twice.
 */
export const query = (file: string, sql: string): Promise<Row[]> =>
  oneAtATime(async () => {
    shared ??= DuckDBInstance.create(':memory:', { threads: '1' })
    const connection = await (await shared).connect()
    try {
      if (file !== ':memory:') {
        await connection.run(`ATTACH '${file.replaceAll("'", "''")}' AS queried (READ_ONLY)`)
        await connection.run('USE queried')
      }
      return plainRows(await connection.runAndReadAll(sql))
    } finally {
      await connection.run('USE memory')
      await connection.run('DETACH DATABASE IF EXISTS queried')
      connection.closeSync()
    }
  })
let shared: Promise<DuckDBInstance> | null = null
const oneAtATime = pLimit(1)

export const plainRows = (result: DuckDBResultReader): Row[] => result.getRowObjects().map(plainRow)

const plainRow = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]))

const plain = (value: unknown): unknown => {
  if (value instanceof DuckDBTimestampTZValue) return formatInstant(value.micros)
  return typeof value === 'bigint' ? Number(value) : value
}
