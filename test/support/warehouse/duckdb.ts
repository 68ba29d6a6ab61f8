/** Reads a DuckDB file without any code of ours: plain SQL, values as JSON (instants as ISO 8601 in UTC). */
import { DuckDBInstance, type DuckDBResultReader, DuckDBTimestampTZValue } from '@duckdb/node-api'
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

/** Opens a file read-only, runs one query and closes it. */
export const query = async (file: string, sql: string): Promise<Row[]> => {
  using reader = await openReader(file)
  return await reader.query(sql)
}

/** Rows with values as JSON. */
export const plainRows = (result: DuckDBResultReader): Row[] => result.getRowObjects().map(plainRow)

const plainRow = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]))

const plain = (value: unknown): unknown => {
  if (value instanceof DuckDBTimestampTZValue) return formatInstant(value.micros)
  return typeof value === 'bigint' ? Number(value) : value
}
