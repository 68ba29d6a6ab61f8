/** The comparison with other tools counts every kind of difference, and none where there is none. */
import { execFile } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect } from 'vitest'
import { startReferenceServer } from '../../src/reference-server/server.js'
import { publishedFile, syncWarm } from '../support/command/sync.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { slow } from '../support/suite/slow.js'
import { TOOLS } from './peers/tools.mjs'
import { differences, rowsOfFile, rowsOfTruth } from './peers/truth.mjs'

const cwd = fileURLToPath(new URL('../..', import.meta.url))
const SURVEYS = 12

slow(
  'planted differences are found in every table and in every field of a row',
  async () => {
    const warehouse = await temporaryDirectory()
    await using server = await startReferenceServer({
      port: 0,
      surveys: SURVEYS,
      rateWindow: 'none',
      clock: 'frozen',
    })
    const [account] = server.accounts
    const { code } = await syncWarm({
      warehouse,
      env: {
        FIELDWORK_SYNC_BASE_URL: server.baseUrl,
        FIELDWORK_SYNC_API_ID: String(account?.id),
        FIELDWORK_SYNC_API_TOKEN: String(account?.token),
        FIELDWORK_SYNC_RATE_LIMIT: '10000/1s',
      },
    })
    expect(code).toBe(0)
    const truth = rowsOfTruth(await (await fetch(`${server.origin}/_reference/truth`)).json())
    expect(truth.surveys?.size).toBe(SURVEYS)
    const [{ queries }] = TOOLS

    /** The differences after a change of a copy of the published file. */
    const after = async (change: string) => {
      const copy = join(warehouse, 'copy.duckdb')
      await copyFile(publishedFile(warehouse), copy)
      const instance = await DuckDBInstance.create(copy)
      const connection = await instance.connect()
      await connection.run(change)
      connection.closeSync()
      instance.closeSync()
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
      for (const { name, type } of await columnsOf(publishedFile(warehouse), table)) {
        if (name.startsWith('_') || ['account', 'id', 'survey_id', 'sample_source_id'].includes(name))
          continue
        const value = type === 'BOOLEAN' ? `NOT "${name}"` : other[type]
        expect(value, `${table}.${name} is ${type}`).toBeDefined()
        const changed = `UPDATE main.${table} SET "${name}" = ${value} ${one}`
        expect(await after(changed), changed).toEqual({ ...none, rows: 1, different: 1 })
      }
    }
  },
  300_000,
)

const columnsOf = async (file: string, table: string): Promise<{ name: string; type: string }[]> => {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  const result = await connection.runAndReadAll(`DESCRIBE main.${table}`)
  connection.closeSync()
  instance.closeSync()
  return result
    .getRowObjects()
    .map(({ column_name, column_type }) => ({ name: String(column_name), type: String(column_type) }))
}

slow(
  'our tables equal the truth after each of the three nights',
  async () => {
    const args = [
      'test/bench/peers.mjs',
      '--only',
      'fieldwork-sync',
      '--surveys',
      '60',
      '--modes',
      'nights,cap',
    ]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd })
    expect(stdout).toMatch(/^\| fieldwork-sync, defaults \|.* 0, 0, 0 \|$/m)
    // At the cap, no request is refused, and no row differs.
    expect(stdout).toMatch(/^\| fieldwork-sync \| \d+ \|.* 0 \| 0 \|$/m)
  },
  300_000,
)

slow(
  'a tool that cannot be installed is left out, in one line',
  async () => {
    const args = [
      'test/bench/peers.mjs',
      '--only',
      'dlt,fieldwork-sync',
      '--surveys',
      '10',
      '--modes',
      'nights',
    ]
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [...args, '--environments', await temporaryDirectory()],
      { cwd, env: { PATH: process.env.PATH, FIELDWORK_SYNC_TEST_PYTHON: '/nonexistent/python3' } },
    )
    expect(stderr.match(/^dlt is left out.*$/gm)).toEqual([expect.stringContaining('/nonexistent/python3')])
    expect(stdout).toMatch(/^\| fieldwork-sync, defaults \|.* 0, 0, 0 \|$/m)
  },
  300_000,
)
