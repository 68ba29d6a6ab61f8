/**
 * Readers for the oracle, all on one instance of DuckDB. An instance for each file would cost more than all of its queries.
 */
import { DuckDBInstance } from '@duckdb/node-api'
import { fromDuckDB } from '../../src/warehouse/connection/cells.js'
import type { Sql } from '../../src/warehouse/connection/database.js'
import { plainRows, type Row } from '../support/warehouse/duckdb.js'

export interface OpenFile extends AsyncDisposable {
  /** The name of its database in the queries of other files. */
  readonly name: string
  readonly file: string
  query(sql: string): Promise<Row[]>
  /** For statements of the code under test. */
  readonly rows: Sql['rows']
}

export interface Readers extends Disposable {
  open(file: string): Promise<OpenFile>
}

export const createReaders = async (): Promise<Readers> => {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  let opened = 0
  let inUse = ''
  const use = async (name: string) => {
    if (inUse !== name) await connection.run(`USE ${name}`)
    inUse = name
  }
  return {
    open: async (file) => {
      opened += 1
      const name = `file_${opened}`
      await connection.run(`ATTACH '${file}' AS ${name} (READ_ONLY)`)
      const detach = async () => {
        if (inUse === name) await use('memory')
        await connection.run(`DETACH ${name}`)
      }
      return {
        name,
        file,
        query: async (sql) => {
          await use(name)
          return plainRows(await connection.runAndReadAll(sql))
        },
        rows: async (schema, sql) => {
          await use(name)
          const found = await connection.runAndReadAll(sql)
          return found.convertRowObjects(fromDuckDB).map((row) => schema.parse(row))
        },
        [Symbol.asyncDispose]: detach,
      }
    },
    [Symbol.dispose]: () => {
      connection.closeSync()
      instance.closeSync()
    },
  }
}
