/** Migration of older files to this version. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../../../src/model/sync-tables.js'
import { HISTORY_TABLES } from '../../../../src/model/tables.js'
import { startReferenceServer } from '../../../../src/reference-server/server.js'
import { type Migration, migrate } from '../../../../src/warehouse/lifecycle/migrations.js'
import { run } from '../../../support/command/command.js'
import { publishedFile, syncWarm, withSettings } from '../../../support/command/sync.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { unsoundness } from '../../../support/oracle/soundness.js'
import { openWorld, truthRows, warehouseRows } from '../../../support/oracle/truth.js'
import { minute } from '../../../support/time/instants.js'
import { testClock } from '../../../support/time/test-clock.js'
import { openReader, query } from '../../../support/warehouse/duckdb.js'
import { list, survey } from '../../../support/warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

/**
 * The work database of the first committed version, after three syncs of the world below: at its start, a day later, and three
 * days after that. In the third sync a budget left three surveys queued, two of them with pending rows. It met an unknown field
 * and a row that could not be typed.
 */
const FIRST_VERSION = new URL('fixtures/first-version.duckdb.gz', import.meta.url)
const WORLD = { port: 0, seed: 3, surveys: 8, rateWindow: 'none', clock: 'frozen' } as const

const firstVersion = async (): Promise<string> => {
  const directory = await temporaryDirectory()
  await writeFile(join(directory, 'work.duckdb'), gunzipSync(await readFile(FIRST_VERSION)))
  return directory
}

const CATALOG = `SELECT schema_name, table_name, column_name, data_type, comment FROM duckdb_columns()
    WHERE database_name = current_database() AND NOT internal
  UNION ALL SELECT schema_name, table_name, '', '', comment FROM duckdb_tables() WHERE database_name = current_database()
  UNION ALL SELECT schema_name, table_name, 'collated', regexp_matches(sql, ' COLLATE '), '' FROM duckdb_tables() WHERE database_name = current_database()
  UNION ALL SELECT schema_name, view_name, '', sql, comment FROM duckdb_views() WHERE database_name = current_database() AND NOT internal
  ORDER BY ALL`

test('a file of the first version is migrated, and after a sync it equals a new one', async () => {
  const [old, fresh] = [await firstVersion(), await temporaryDirectory()]
  await using server = await startReferenceServer(WORLD)
  const world = openWorld(server)
  const args = await withSettings({
    accounts: server.accounts.map(({ name, id, token }) => ({
      name,
      id,
      token,
      base_url: server.baseUrl,
      rate_limit: { requests: 1_000, per: '1s' },
    })),
  })
  const histories = await historiesOf(join(old, 'work.duckdb'))
  expect(histories.map(({ rows }) => rows.length).every((rows) => rows > 5)).toBe(true)
  await world.advance('P40D')
  expect(await syncWarm({ warehouse: old, env: {}, args: [...args, '--full'] })).toMatchObject({
    code: 0,
    run: { left_over: 0, surveys_failed: 0 },
  })
  expect(await syncWarm({ warehouse: fresh, env: {}, args })).toMatchObject({ code: 0 })
  const [migrated, built] = [publishedFile(old), publishedFile(fresh)]
  expect(await query(migrated, CATALOG)).toEqual(await query(built, CATALOG))
  const now = await truthRows(server)
  expect(await warehouseRows(migrated)).toEqual(now)
  expect(await warehouseRows(built)).toEqual(now)
  // The history of the older file is kept, version by version.
  using reader = await openReader(migrated)
  for (const { table, rows } of histories) {
    const kept = await reader.query(`SELECT ${table.columns} FROM ${table.name} ORDER BY ALL`)
    expect(kept, table.name).toEqual(expect.arrayContaining([...rows]))
    expect(kept.length).toBeGreaterThan(rows.length)
  }
  expect(
    await reader.query(
      'SELECT DISTINCT version, replayed_at FROM _sync.schema_version, _sync.rejected_rows ORDER BY version',
    ),
  ).toEqual(
    Array.from({ length: SCHEMA_VERSION }, (_, before) => ({ version: before + 1, replayed_at: null })),
  )
  expect(
    await reader.query('SELECT count(*) AS runs, count(command) AS with_command FROM _sync.runs'),
  ).toEqual([{ runs: 4, with_command: 1 }])
  expect(await reader.query('SELECT path FROM _sync.drift_events')).toEqual([{ path: 'answer.mood' }])
  expect(await unsoundness(migrated)).toEqual([])
})

/** All columns but `valid_to`, because the last version may have ended since. */
const historiesOf = async (file: string) => {
  using reader = await openReader(file)
  const found = []
  for (const history of HISTORY_TABLES) {
    const names = history.columns.map(({ name }) => name).filter((name) => name !== 'valid_to')
    const table = { name: history.name, columns: names.map((name) => `"${name}"`).join(', ') }
    found.push({ table, rows: await reader.query(`SELECT ${table.columns} FROM ${table.name} ORDER BY ALL`) })
  }
  return found
}

/** Steps that a later version could have. Each changes a table and fills it. */
const steps: readonly Migration[] = [
  {
    version: SCHEMA_VERSION + 1,
    description: 'Surveys have a colour',
    statements: [
      'ALTER TABLE main.surveys_history ADD COLUMN colour VARCHAR',
      "UPDATE main.surveys_history SET colour = 'red'",
    ],
  },
  {
    version: SCHEMA_VERSION + 2,
    description: 'And another one',
    statements: ["UPDATE main.surveys_history SET colour = concat(colour, 'dish')"],
  },
]

const versions = ({ rows }: TestWarehouse) =>
  rows('SELECT version, description FROM _sync.schema_version ORDER BY version')

test('version 3 renames live surveys to active, and full_listing_wanted to full_listing_due', async () => {
  const warehouse = await testWarehouse()
  await list(warehouse.account, [survey(1)], minute(0), 'full')
  await warehouse.run('DELETE FROM _sync.schema_version')
  await warehouse.run(
    "INSERT INTO _sync.schema_version VALUES (2, now(), 'Built from the declarations', NULL)",
  )
  await warehouse.run('ALTER TABLE _sync.cursors RENAME COLUMN full_listing_due TO full_listing_wanted')
  await warehouse.run('UPDATE _sync.cursors SET full_listing_wanted = true')
  await warehouse.run("UPDATE _sync.tasks SET reason = 'live'")
  await warehouse.run("INSERT INTO _sync.requests VALUES ('run-0', 'acme', 'live', 'survey_progress', 3, 1)")
  await migrate(warehouse.database, testClock())
  expect(await warehouse.rows('SELECT reason FROM _sync.tasks')).toEqual([{ reason: 'active' }])
  expect(await warehouse.rows('SELECT reason, made, saved FROM _sync.requests')).toEqual([
    { reason: 'active', made: 3, saved: 1 },
  ])
  expect(await warehouse.rows('SELECT full_listing_due FROM _sync.cursors')).toEqual([
    { full_listing_due: true },
  ])
  expect((await versions(warehouse)).map(({ version }) => version)).toEqual([2, 3])
})

test('each step is one transaction with its record: a failed step leaves no trace, and the next run repeats it', async () => {
  const warehouse = await testWarehouse()
  await list(warehouse.account, [survey(1)], minute(0), 'full')
  const built = { version: SCHEMA_VERSION, description: 'Built from the declarations' }
  const [first, second] = steps
  const failing = [first, { ...second, statements: [...(second?.statements ?? []), 'SELECT * FROM nowhere'] }]
  const schema = { version: SCHEMA_VERSION + 2, migrations: failing as readonly Migration[] }
  await expect(migrate(warehouse.database, testClock(), schema)).rejects.toThrow('nowhere')
  expect(await versions(warehouse)).toEqual([
    built,
    { version: SCHEMA_VERSION + 1, description: 'Surveys have a colour' },
  ])
  expect(await warehouse.rows('SELECT colour FROM surveys_history')).toEqual([{ colour: 'red' }])

  for (const _ of ['the next run', 'one more run, which has nothing to do']) {
    await migrate(warehouse.database, testClock(), { version: SCHEMA_VERSION + 2, migrations: steps })
    expect(await warehouse.rows('SELECT colour FROM surveys_history')).toEqual([{ colour: 'reddish' }])
    expect((await versions(warehouse)).map(({ version }) => version)).toEqual([
      SCHEMA_VERSION,
      SCHEMA_VERSION + 1,
      SCHEMA_VERSION + 2,
    ])
  }
})

test('a new file needs no step: it is built with the newest schema', async () => {
  const warehouse = await testWarehouse()
  await warehouse.run('DELETE FROM _sync.schema_version')
  await migrate(warehouse.database, testClock(), { version: SCHEMA_VERSION + 2, migrations: steps })
  expect(await versions(warehouse)).toEqual([
    { version: SCHEMA_VERSION + 2, description: 'Built from the declarations' },
  ])
})

test('a newer schema is refused in one clear line, and its file stays unchanged', async () => {
  const warehouse = await testWarehouse()
  await warehouse.run("INSERT INTO _sync.schema_version VALUES (77, now(), 'from the future', NULL)")
  await warehouse.database.close()
  const before = await readFile(join(warehouse.directory, 'work.duckdb'))
  const ended = await run(['replay', '--warehouse', warehouse.directory])
  expect(ended).toMatchObject({ code: 7, stdout: '' })
  expect(ended.stderr).toBe(
    `fieldwork-sync: ${join(warehouse.directory, 'work.duckdb')} has schema version 77, but this version of fieldwork-sync supports only up to ${SCHEMA_VERSION}. Use the fieldwork-sync that wrote it, or a newer one\n`,
  )
  expect(before.equals(await readFile(join(warehouse.directory, 'work.duckdb')))).toBe(true)
})
