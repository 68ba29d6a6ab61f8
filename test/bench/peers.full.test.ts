/** The comparison with other tools counts every kind of difference, and none where there is none. */
import { execFile } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, test } from 'vitest'
import { startWorld } from '../support/api/reference-api.js'
import { publishedFile, syncWarm } from '../support/command/sync.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { unlimitedEnv } from '../support/oracle/rate.js'
import { TOOLS } from './peers/tools.mjs'
import { differences, rowsOfFile, rowsOfTruth } from './peers/truth.mjs'

const cwd = fileURLToPath(new URL('../..', import.meta.url))
const SURVEYS = 12

const peers = (flags: string, env = process.env) =>
  promisify(execFile)(process.execPath, ['test/bench/peers.mjs', ...flags.split(' ')], { cwd, env })

test('planted differences are found in every table and in every field of a row', async () => {
  const warehouse = await temporaryDirectory()
  await using server = await startWorld({ surveys: SURVEYS })
  const env = unlimitedEnv(server, warehouse)
  expect((await syncWarm({ warehouse, env })).code).toBe(0)
  const truth = rowsOfTruth(await (await fetch(`${server.origin}/_reference/truth`)).json())
  expect(truth.surveys?.size).toBe(SURVEYS)
  const [{ queries }] = TOOLS

  /** The differences after a change of a copy of the published file. */
  const after = async (change: string) => {
    const copy = join(warehouse, 'copy.duckdb')
    await copyFile(publishedFile(warehouse), copy)
    await run(copy, change)
    const { examples, ...found } = differences(truth, await rowsOfFile(copy, queries))
    expect(examples).toHaveLength(found.rows)
    return found
  }
  const none = { rows: 0, missing: 0, gone: 0, different: 0 }
  expect(await after('SELECT 1')).toEqual(none)

  const tables = ['surveys', 'sample_sources', 'survey_progress', 'sample_source_progress']
  const other: Readonly<Record<string, string>> = {
    VARCHAR: "'another text'",
    BIGINT: '987654321',
    INTEGER: '987654321',
    DOUBLE: '0.123456',
    'TIMESTAMP WITH TIME ZONE': "TIMESTAMPTZ '2001-01-01T00:00:00.000001Z'",
  }
  for (const table of tables) {
    const one = `WHERE rowid = (SELECT min(rowid) FROM main.${table})`
    expect(await after(`DELETE FROM main.${table} ${one}`), table).toEqual({ ...none, rows: 1, missing: 1 })
    const key =
      table === 'survey_progress' ? 'survey_id' : table.endsWith('_progress') ? 'sample_source_id' : 'id'
    const added = `INSERT INTO main.${table} SELECT * REPLACE (7 AS ${key}) FROM main.${table} ${one}`
    expect(await after(added), table).toEqual({ ...none, rows: 1, gone: 1 })
    for (const column of await run(publishedFile(warehouse), `DESCRIBE main.${table}`)) {
      const [name, type] = [String(column.column_name), String(column.column_type)]
      if (name.startsWith('_') || ['account', 'id', 'survey_id', 'sample_source_id'].includes(name)) continue
      const value = type === 'BOOLEAN' ? `NOT "${name}"` : other[type]
      expect(value, `${table}.${name} is ${type}`).toBeDefined()
      const changed = `UPDATE main.${table} SET "${name}" = ${value} ${one}`
      expect(await after(changed), changed).toEqual({ ...none, rows: 1, different: 1 })
    }
  }
})

/** The rows of a statement. */
const run = async (file: string, sql: string) => {
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  const result = await connection.runAndReadAll(sql)
  connection.closeSync()
  instance.closeSync()
  return result.getRowObjects()
}

test('our tables equal the truth after each of the three nights', async () => {
  const { stdout } = await peers('--only fieldwork-sync --surveys 60 --modes nights,cap')
  expect(stdout).toMatch(/^\| fieldwork-sync, defaults \|.* 0, 0, 0 \|$/m)
  // At the cap, no request is refused, and no row differs.
  expect(stdout).toMatch(/^\| fieldwork-sync \| \d+ \|.* 0 \| 0 \|$/m)
})

test('a tool that cannot be installed is left out, in one line', async () => {
  const flags = `--only dlt,fieldwork-sync --surveys 10 --modes nights --environments ${await temporaryDirectory()}`
  const env = { PATH: process.env.PATH, FIELDWORK_SYNC_TEST_PYTHON: '/nonexistent/python3' }
  const { stdout, stderr } = await peers(flags, env)
  expect(stderr.match(/^dlt is left out.*$/gm)).toEqual([expect.stringContaining('/nonexistent/python3')])
  expect(stdout).toMatch(/^\| fieldwork-sync, defaults \|.* 0, 0, 0 \|$/m)
})
