/**
 * Every query of docs/reference/queries.md and every view gives the same result in every supported version of DuckDB as in our own.
 * They run on a file that the real command has published.
 */
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { schemaAsSql } from '../../../src/commands/schema.js'
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'
import { publishedFile } from '../../support/command/sync.js'
import type { Reader, Row } from '../../support/warehouse/duckdb.js'
import { fourNights } from '../../support/warehouse/four-nights.js'
import { QUERIES } from '../docs/queries.js'
import { ENVIRONMENTS, lacksEnvironment, runPython } from './python.js'

const SCRIPT = fileURLToPath(new URL('queries.py', import.meta.url))
const VERSIONS = ENVIRONMENTS.filter((name) => name.startsWith('duckdb-'))

const viewQueries = ALL_VIEWS.map(({ name, key }) => [
  `view ${name}`,
  `SELECT * FROM ${name} ORDER BY ${key.join(', ')}`,
])
const queries: Readonly<Record<string, string>> = Object.fromEntries([...QUERIES, ...viewQueries])

/** In four nights no rate gets better, and no forecast of two weeks before is held against what happened. */
const EMPTY: ReadonlySet<string> = new Set(['Forecasts of two weeks before', 'view good_news'])

interface Answer {
  readonly types: readonly (readonly unknown[])[]
  readonly rows: readonly (readonly unknown[])[]
}

/** Does the same as the script, in our own DuckDB. */
const answerOf = async (reader: Reader, sql: string): Promise<Answer> => {
  const values = (rows: readonly Row[]) => rows.map((row) => Object.values(row))
  return {
    types: values(await reader.query(`SELECT column_name, column_type FROM (DESCRIBE ${sql})`)),
    rows: values(await reader.query(`SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (${sql})`)),
  }
}

describe('on a published file', () => {
  const world = fourNights()

  for (const name of VERSIONS)
    test.skipIf(lacksEnvironment(name))(`${name} answers every query and view like our own`, async () => {
      const { reader, warehouse } = world()
      await reader.query(`SET TimeZone = 'UTC'`)
      const input = { file: publishedFile(warehouse), queries, schema: schemaAsSql() }
      const { version, ...answers } = (await runPython(name, SCRIPT, input)) as Record<string, unknown>
      expect(`duckdb-${version}`).toBe(name)
      expect(Object.keys(answers)).toEqual(Object.keys(queries))
      for (const [title, sql] of Object.entries(queries)) {
        const own = await answerOf(reader, sql)
        if (!EMPTY.has(title)) expect(own.rows.length, title).toBeGreaterThan(0)
        expect(answers[title], `${name}, ${title}`).toEqual(own)
      }
    })
})
