/** What both test files of session-settings use. */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { TRIED } from './session-settings.js'

/** Some pages name the survey of their example. */
export const inThisWorld = (sql: string): string =>
  sql
    .replace(/;$/, '')
    .replace("'default'", "'acme'")
    .replaceAll(/\b2147483\d{3}\b/g, '101')

export const connected = async <Result>(
  path: string,
  options: Readonly<Record<string, string>>,
  use: (connection: DuckDBConnection) => Promise<Result>,
): Promise<Result> => {
  const instance = await DuckDBInstance.create(path, { threads: '1', ...options })
  const connection = await instance.connect()
  try {
    return await use(connection)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** They need schemas that exist. */
export const PATHS = ['schema', 'search_path']

export type Session = Readonly<Record<string, string>>

/** Values as DuckDB stores them, because texts of times depend on the session. */
export const rowsOf = async (connection: DuckDBConnection, sql: string): Promise<readonly string[]> => {
  const result = await connection.runAndReadAll(sql)
  const rows = result
    .getRows()
    .map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
  return [JSON.stringify(result.columnNames()), ...(ordered(sql) ? rows : rows.toSorted())]
}

const ordered = (sql: string) => /ORDER BY [^)]*$/.test(sql)

/** The settings of our DuckDB, and the values to try that it knows and that are not its default. Other values are of other versions. */
export const settingsOfOurs = () =>
  connected(':memory:', {}, async (connection) => {
    await connection.run('CREATE SCHEMA _sync')
    const found = await connection.runAndReadAll('SELECT name, value FROM duckdb_settings() ORDER BY name')
    const settings = new Map<string, readonly string[]>()
    for (const [name, byDefault] of found.getRows()) {
      const values = []
      for (const value of TRIED[String(name)] ?? [])
        if (value !== byDefault && (await connection.run(`SET ${name} = ${value}`).then(...KNOWN)))
          values.push(value)
      settings.set(String(name), values)
    }
    return settings
  })
const KNOWN = [() => true, () => false] as const
