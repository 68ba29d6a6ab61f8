/** The tables in DuckDB compared with their declarations, and what opening an older file adds. */
import { expect, test } from 'vitest'
import { ALL_TABLES, SCHEMA_VERSION } from '../../../../src/model/sync-tables.js'
import { ALL_VIEWS } from '../../../../src/warehouse/views/all.js'
import { minute } from '../../../support/time/instants.js'
import { begin, commitPage, list, listingPage, rejection, survey } from '../../../support/warehouse/rows.js'
import { queuedTasks } from '../../../support/warehouse/run-dependencies.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

const OURS = "database_name = current_database() AND schema_name IN ('main', '_sync') AND NOT internal"

test('every declared table exists, with its columns, types, NOT NULLs and comments', async () => {
  const warehouse = await testWarehouse()
  const tables = await warehouse.rows(
    `SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE ${OURS} ORDER BY ALL`,
  )
  const declared = ALL_TABLES.map(({ schema, name, comment }) => ({
    schema_name: schema,
    table_name: name,
    comment,
  }))
  expect(tables).toEqual(
    declared.sort((a, b) => order(a.schema_name, b.schema_name) || order(a.table_name, b.table_name)),
  )
  const columns = await warehouse.rows(
    `SELECT schema_name AS schema, table_name AS "table", column_name AS name, data_type AS type, is_nullable AS nullable, comment
      FROM duckdb_columns() WHERE ${OURS} ORDER BY column_index`,
  )
  for (const table of ALL_TABLES)
    expect(
      columns.filter(({ schema, table: name }) => schema === table.schema && name === table.name),
      table.name,
    ).toEqual(
      table.columns.map(({ name, type, nullable, comment }) => ({
        ...{ schema: table.schema, table: table.name },
        ...{ name, type: duckdbType(type), nullable, comment },
      })),
    )
})

const duckdbType = (type: string): string => (type === 'TIMESTAMPTZ' ? 'TIMESTAMP WITH TIME ZONE' : type)

const order = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

test('every view has the declared columns, types and comments', async () => {
  const warehouse = await testWarehouse()
  await warehouse.expectRows(
    `SELECT view_name AS name, comment FROM duckdb_views() WHERE ${OURS} ORDER BY ALL`,
    ALL_VIEWS.map(({ name, comment }) => ({ name, comment })).sort((a, b) => order(a.name, b.name)),
  )
  const columns = await warehouse.rows(
    `SELECT table_name AS view, column_name AS name, data_type AS type, comment FROM duckdb_columns()
      WHERE ${OURS} ORDER BY column_index`,
  )
  for (const view of ALL_VIEWS)
    expect(
      columns.filter(({ view: name }) => name === view.name),
      view.name,
    ).toEqual(
      view.columns.map(({ name, type, comment }) => ({
        view: view.name,
        ...{ name, type: duckdbType(type), comment },
      })),
    )
})

test('views and comments that a kill left out are there after the next open', async () => {
  const { directory, database } = await testWarehouse()
  // A kill between two of the statements that describe a new file.
  await database.exclusively((sql) =>
    sql.run(
      `DROP VIEW surveys_today; COMMENT ON TABLE surveys IS NULL; UPDATE _sync.schema_version SET descriptions_digest = NULL`,
    ),
  )
  await database.close()
  const next = await testWarehouse(directory)
  await next.expectRows(
    `SELECT (SELECT count(*) FROM duckdb_views() WHERE ${OURS})::INTEGER AS views,
      (SELECT comment IS NOT NULL FROM duckdb_tables() WHERE table_name = 'surveys') AS commented`,
    [{ views: ALL_VIEWS.length, commented: true }],
  )
})

test('tables have no constraint but NOT NULL, and no index', async () => {
  const warehouse = await testWarehouse()
  await warehouse.expectRows('SELECT index_name FROM duckdb_indexes()', [])
  await warehouse.expectRows(
    `SELECT DISTINCT constraint_type FROM duckdb_constraints() WHERE ${OURS.replace('AND NOT internal', '')}`,
    [['NOT NULL']],
  )
})

test('a new database records the version it was built with, once', async () => {
  const warehouse = await testWarehouse()
  await warehouse.database.close()
  const again = await testWarehouse(warehouse.directory)
  await again.expectRows('SELECT version, applied_at, description FROM _sync.schema_version', [
    [SCHEMA_VERSION, '2026-03-01T00:00:00Z', 'Built from the declarations'],
  ])
})

test('a column that an older file lacks is added to every table with its comment, and filled from then on', async () => {
  const older = await testWarehouse()
  await list(older.account, [survey(1, { project_id: 'p1' })], minute(0), 'full')
  for (const view of [...ALL_VIEWS].reverse()) await older.run(`DROP VIEW ${view.name}`)
  await older.run('ALTER TABLE surveys DROP COLUMN project_id')
  await older.run('ALTER TABLE surveys_history DROP COLUMN project_id')
  await older.run('ALTER TABLE _sync.pending_surveys DROP COLUMN project_id')
  await older.run('ALTER TABLE _sync.rejected_rows DROP COLUMN survey_id')
  await older.run('ALTER TABLE _sync.tasks DROP COLUMN requests_needed')
  await older.database.close()

  const migrated = await testWarehouse(older.directory)
  await migrated.expectRows(
    `SELECT table_name, comment FROM duckdb_columns() WHERE ${OURS} AND column_name = 'project_id'
      AND table_name IN ('surveys', 'surveys_history', 'pending_surveys') ORDER BY ALL`,
    ['pending_surveys', 'surveys', 'surveys_history'].map((table_name) => ({
      table_name,
      comment: 'Customizable identifier set by the user',
    })),
  )
  await migrated.expectRows('SELECT id, project_id FROM survey_overview', [[1, null]])
  await migrated.account.startListing({
    kind: 'full',
    updatedSince: null,
    ceiling: minute(8),
    startedAt: minute(9),
  })
  await commitPage(migrated.account, [survey(1, { project_id: 'p1' })], minute(9), {
    rejections: [
      rejection({ surveyId: 2, rowId: 2, problem: 'title: not a string', raw: '{"id":2,"title":7}' }),
    ],
  })
  await migrated.expectRows('SELECT id, project_id FROM surveys', [[1, 'p1']])
  await migrated.expectRows(
    'SELECT endpoint, survey_id, sample_source_id, problem, raw FROM _sync.rejected_rows',
    [['surveys', 2, null, 'title: not a string', '{"id":2,"title":7}']],
  )
  expect(await queuedTasks(migrated.account, minute(9), { runId: 'r' })).toMatchObject([
    { surveyId: 1, reason: 'changed', reserve: 3, isLeftOver: true, refusals: 0 },
  ])
})

test('a listing that a warehouse of version 3 has under way goes on after all migrations', async () => {
  const older = await testWarehouse()
  await begin(older.account, minute(0))
  await commitPage(older.account, [survey(2)], minute(0), { nextPage: 2, totalCount: 2 })
  await older.account.startRun({ runId: 'r', command: 'sync', version: '0', startedAt: minute(0) })
  await older.run('ALTER TABLE _sync.listed_ids DROP COLUMN kind')
  await older.run('ALTER TABLE _sync.listings RENAME least_total_count TO first_total_count')
  await older.run('UPDATE _sync.runs SET rate_limited = 7')
  await older.run('ALTER TABLE _sync.runs RENAME rate_limited TO refusals')
  await older.run('DROP TABLE plan')
  await older.run('CREATE TABLE deadlines (account VARCHAR, survey_id BIGINT, due_on DATE)')
  await older.run('UPDATE _sync.schema_version SET version = 3')
  await older.database.close()

  const { account, expectRows } = await testWarehouse(older.directory)
  expect((await account.position()).listings.full).toMatchObject({ nextPage: 2, leastTotalCount: 2 })
  const last = listingPage([survey(1)], minute(1), { page: 2, totalCount: 2 })
  expect(await account.countListed(last)).toBe(2)
  await account.commitListingPages([last])
  await expectRows("SELECT survey_id FROM _sync.tasks WHERE reason = 'missing'", [])
  // Version 6 renamed the answers 429, and version 7 has the table plan in place of deadlines.
  await expectRows('SELECT rate_limited FROM _sync.runs', [[7]])
  await expectRows(
    `SELECT table_name FROM duckdb_tables() WHERE ${OURS} AND table_name IN ('plan', 'deadlines')`,
    [['plan']],
  )
  await expectRows('SELECT count(*)::VARCHAR FROM survey_pace', [['0']])
})

test('a column of a newer version stays empty in the rows that this version adds', async () => {
  const newer = await testWarehouse()
  await newer.run('ALTER TABLE surveys ADD COLUMN colour BIGINT')
  await newer.run('ALTER TABLE surveys_history ADD COLUMN colour BIGINT')
  await newer.database.close()

  const older = await testWarehouse(newer.directory)
  await list(older.account, [survey(1)], minute(0), 'full')
  await older.expectRows('SELECT id, title, colour FROM surveys', [[1, 'Survey 1', null]])
  await older.expectRows('SELECT id, valid_from, colour FROM surveys_history', [
    [1, '2026-03-01T00:00:00Z', null],
  ])
})
