/**
 * Readers for the oracle, all of them on one instance of DuckDB: an instance of its own for each file would cost more
 * than everything that is asked of it.
 */
import { DuckDBInstance } from '@duckdb/node-api'
import { plainRows, type Row } from '../support/warehouse/duckdb.js'

export interface OpenFile extends AsyncDisposable {
  /** What other files' queries call it. */
  readonly name: string
  readonly file: string
  query(sql: string): Promise<Row[]>
}

export interface Readers extends Disposable {
  /** Opens a file read-only; rejects where it cannot be read. */
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
        [Symbol.asyncDispose]: detach,
      }
    },
    [Symbol.dispose]: () => {
      connection.closeSync()
      instance.closeSync()
    },
  }
}
