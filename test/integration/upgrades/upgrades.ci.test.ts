/** docs/reference/compatibility.md: what an earlier version of 1.x wrote is read and synced on by this one. */
import { chmodSync, copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { describe, expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../../src/model/sync-tables.js'
import { openTrial } from '../../support/command/trial.js'
import { query } from '../../support/warehouse/duckdb.js'
import { lostRows, NEXT_DAY, night, RELEASES, unpack } from './release.js'

/** Each command that only reads, with what it needs. */
const READING = [
  ['status'],
  ['status', '--requests'],
  ['query', 'surveys-today'],
  ['query', 'FROM needs_action'],
]
/** Those that first need a `sync` if the schema has changed. */
const READING_OWN_SCHEMA = [['status', '--survey', '1'], ['plan']]

test('the states that releases wrote are kept', () => {
  expect(RELEASES).toContain('1.0.0')
})

describe.each(RELEASES)('what %s wrote', (version) => {
  test.concurrent('is read as it is by every command that reads', async (context) => {
    const trial = await openTrial(context)
    unpack(version, 'warehouse', trial.warehouse)
    const before = readFileSync(trial.published)
    for (const command of READING)
      expect([command, await trial.runWarm(command)]).toMatchObject([command, { code: 0 }])
    const [schema] = await trial.rows('SELECT max(version)::INT AS version FROM _sync.schema_version')
    for (const command of READING_OWN_SCHEMA) {
      const code = schema?.version === SCHEMA_VERSION ? 0 : 7
      expect([command, await trial.runWarm(command)]).toMatchObject([command, { code }])
    }
    const out = join(await trial.temporary(), 'out')
    expect(await trial.runWarm(['export', '--format', 'csv', '--out', out])).toMatchObject({ code: 0 })
    expect(await query(':memory:', `SELECT id, status FROM '${out}/surveys.csv' ORDER BY id`)).toEqual([
      { id: 1, status: 'fieldwork' },
      { id: 2, status: 'complete' },
      { id: 3, status: 'on_hold' },
    ])
    const page = join(out, 'report.html')
    expect(await trial.runWarm(['report', '--out', page])).toMatchObject({ code: 0 })
    expect(readFileSync(page, 'utf8')).toContain('Survey 1')
    expect(readFileSync(trial.published).equals(before)).toBe(true)
  })

  test.concurrent('is synced on, and keeps every row of its histories', async (context) => {
    const trial = await openTrial(context)
    unpack(version, 'warehouse', trial.warehouse)
    const before = join(await trial.temporary(), 'before.duckdb')
    copyFileSync(trial.published, before)
    expect(await night(trial, NEXT_DAY, 'duckdb,parquet')).toMatchObject({ code: 0 })
    await trial.expectSound()
    expect(await trial.runWarm(['verify', '--local'])).toMatchObject({ code: 0 })
    expect(await lostRows(before, trial.published)).toEqual([])
    expect(await trial.rows('SELECT interviews_count FROM survey_progress WHERE survey_id = 1')).toEqual([
      { interviews_count: 10 + 7 * NEXT_DAY },
    ])
    expect(await trial.runs()).toHaveLength(4)
  })
})

test('what a newer version wrote is refused with exit 7, and stays as it is', async (context) => {
  const trial = await openTrial(context)
  unpack('1.0.0', 'warehouse', trial.warehouse)
  const files = ['work.duckdb', 'fieldwork.duckdb'].map((name) => join(trial.warehouse, name))
  for (const file of files) await makeNewer(file)
  const before = files.map((file) => readFileSync(file))
  for (const command of [
    ['sync'],
    ...READING,
    ...READING_OWN_SCHEMA,
    ['export', '--format', 'csv', '--out', join(await trial.temporary(), 'out')],
  ]) {
    const ended = await trial.runWarm(command)
    expect([command, ended]).toMatchObject([command, { code: 7 }])
    expect(ended.stderr + ended.stdout).toContain(`schema version ${SCHEMA_VERSION + 1}`)
  }
  expect(files.map((file) => readFileSync(file).equals(before.shift() ?? Buffer.alloc(0)))).toEqual([
    true,
    true,
  ])
  expect(trial.api.arrivals).toEqual([])
})

const makeNewer = async (file: string): Promise<void> => {
  chmodSync(file, 0o644)
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  await connection.run(`UPDATE _sync.schema_version SET version = ${SCHEMA_VERSION + 1}`)
  connection.closeSync()
  instance.closeSync()
}
