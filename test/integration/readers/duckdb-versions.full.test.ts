/**
 * Every query of docs/reference/queries.md and every view gives the same result in every supported version of DuckDB as in our own.
 * They run on a file that the real command has published, with good news besides.
 */
import { chmod, copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { schemaAsSql } from '../../../src/commands/schema.js'
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'
import { publishedFile } from '../../support/command/sync.js'
import { atEndOfFile, temporaryDirectory } from '../../support/files/temporary.js'
import { openReader, type Reader, type Row } from '../../support/warehouse/duckdb.js'
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

/** In four nights no forecast of two weeks before is held against what happened. */
const EMPTY: ReadonlySet<string> = new Set(['Forecasts of two weeks before'])

/** What four nights do not bring: a survey whose rates were worse before, and soft launches. */
const GOOD_NEWS = `
  UPDATE survey_progress_history SET screen_out_individuals = screen_out_individuals + 200, incomplete_individuals = incomplete_individuals + 200
    WHERE survey_id IN (SELECT survey_id FROM survey_pace WHERE recent_incidence_rate > earlier_incidence_rate);
  UPDATE surveys SET status = 'pending' WHERE status = 'fieldwork' AND id NOT IN (SELECT survey_id FROM needs_action)`

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
  let file: string
  let reader: Reader
  beforeAll(async () => {
    file = join(await temporaryDirectory(atEndOfFile), 'fieldwork.duckdb')
    await copyFile(publishedFile(world().warehouse), file)
    await chmod(file, 0o600)
    const instance = await DuckDBInstance.create(file)
    const connection = await instance.connect()
    await connection.run(GOOD_NEWS)
    connection.closeSync()
    instance.closeSync()
    reader = await openReader(file)
    atEndOfFile(() => reader[Symbol.dispose]())
    await reader.query(`SET TimeZone = 'UTC'`)
    const news = await reader.query('SELECT DISTINCT kind FROM good_news ORDER BY kind')
    expect(news).toEqual(['drop_out', 'incidence', 'soft_launch'].map((kind) => ({ kind })))
  })

  for (const name of VERSIONS)
    test.skipIf(lacksEnvironment(name))(`${name} answers every query and view like our own`, async () => {
      const input = { file, queries, schema: schemaAsSql() }
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
