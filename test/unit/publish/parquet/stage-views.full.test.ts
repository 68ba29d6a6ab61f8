/** Views as Parquet: they are in the version of the tables, equal the views of the database, and nothing is restored from them. */
import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PUBLISHED_VIEWS, VIEW_NAMES } from '../../../../src/model/publish-formats.js'
import { createLacks } from '../../../../src/publish/file-system-lacks.js'
import { NEVER } from '../../../support/storage/bucket.js'
import { instantOf, minute } from '../../../support/time/instants.js'
import {
  currentOf,
  filesOf,
  manifestOf,
  publishedCopies,
  publishParquet,
  tablesThatDiffer,
  writtenAnew,
} from '../../../support/warehouse/parquet.js'
import { bundle, list, progress, source, survey } from '../../../support/warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

const IN_FIELD = { status: 'fieldwork', sample_size: 100 } as const
const DAY_MINUTES = 24 * 60

/** One night of a survey of January and one of February. The sources of a survey are behind equally far. */
const night = async ({ account }: TestWarehouse, number: number, ids: readonly number[]) =>
  account.commitBundles(
    ids.map((id) =>
      bundle(
        id,
        minute(number * DAY_MINUTES),
        // Record changes have a row for each night but the first.
        [source(id * 10, { description: `night ${number}` }), source(id * 10 + 1)],
        progress(id * number, { sample_size: 100 }),
      ),
    ),
    'run-1',
  )

const publishedOnce = publishedCopies(async (warehouse) => {
  const { account } = warehouse
  await account.startRun({ runId: 'run-1', command: 'sync', version: '1.2.3', startedAt: minute(0) })
  const january = { ...IN_FIELD, created_at: instantOf('2026-01-31T23:59:59Z') }
  const february = {
    ...IN_FIELD,
    status: 'deviating_from_specs',
    created_at: instantOf('2026-02-01T00:00:00Z'),
  }
  await list(account, [survey(1, january), survey(2, february)], minute(0), 'full')
  for (const number of [1, 2, 3]) await night(warehouse, number, [1, 2])
}, PUBLISHED_VIEWS)

const publish = (warehouse: TestWarehouse, views = PUBLISHED_VIEWS) =>
  publishParquet(warehouse, createLacks(warehouse.log), NEVER, views)

test('every view can be published, and has the rows and types of the view; none of its temporary tables stays', async () => {
  const warehouse = await publishedOnce()
  await publish(warehouse, VIEW_NAMES)
  expect(await tablesThatDiffer(warehouse, currentOf(warehouse), VIEW_NAMES)).toEqual([])
  const { tables } = await manifestOf(currentOf(warehouse))
  const views = tables.filter(({ is_view }) => is_view === true)
  expect(views.map(({ name }) => name)).toEqual(VIEW_NAMES)
  // Three nights have no forecast that came true or failed, and no good news.
  expect(views.filter(({ rows }) => rows === 0).map(({ name }) => name)).toEqual([
    'forecast_accuracy',
    'good_news',
  ])
  const temporary = await warehouse.rows('SELECT table_name AS name FROM duckdb_tables() WHERE temporary')
  expect(temporary.filter(({ name }) => VIEW_NAMES.some((view) => view === name))).toEqual([])
})

test('the next version keeps the files of unchanged months, and has no view that was switched off', async () => {
  const warehouse = await publishedOnce()
  const before = await filesOf(currentOf(warehouse))
  await night(warehouse, 4, [2])
  await publish(warehouse)
  expect(await tablesThatDiffer(warehouse, currentOf(warehouse), PUBLISHED_VIEWS)).toEqual([])
  const written = writtenAnew(before, await filesOf(currentOf(warehouse)))
  const inPlace = ['needs_action', 'progress_daily', 'source_overview', 'survey_pace', 'surveys_today']
  expect(written.filter((path) => inPlace.some((view) => path.startsWith(`${view}/`)))).toEqual(
    inPlace.map((view) =>
      ['progress_daily', 'source_overview'].includes(view)
        ? `${view}/account=acme/created_month=2026-02/data.parquet`
        : `${view}/data.parquet`,
    ),
  )
  await publish(warehouse, ['survey_pace'])
  await expect(stat(join(currentOf(warehouse), 'surveys_today'))).rejects.toThrow('ENOENT')
  expect(await tablesThatDiffer(warehouse, currentOf(warehouse), ['survey_pace'])).toEqual([])
})

test('a view is not evaluated while its tables stay as they are; a file of it that is lost is written anew', async () => {
  const warehouse = await publishedOnce()
  const before = await filesOf(currentOf(warehouse))
  const lost = 'survey_pace/data.parquet'
  await rm(join(currentOf(warehouse), lost))
  await publish(warehouse)
  const after = await filesOf(currentOf(warehouse))
  expect(writtenAnew(before, after)).toEqual([lost])
  expect(await tablesThatDiffer(warehouse, currentOf(warehouse), PUBLISHED_VIEWS)).toEqual([])
  // After this, an evaluation would find other rows in every file.
  const manifest = await manifestOf(currentOf(warehouse))
  const views = manifest.tables.filter(({ is_view }) => is_view === true)
  for (const file of views.flatMap(({ files }) => files)) file.digest = '0:0'
  await writeFile(join(currentOf(warehouse), 'manifest.json'), JSON.stringify(manifest))
  await publish(warehouse)
  expect(writtenAnew(after, await filesOf(currentOf(warehouse)))).toEqual([])
})

test('a lost work database is rebuilt from the tables, also if the file of a view is damaged', async () => {
  const warehouse = await publishedOnce()
  const view = 'survey_pace/data.parquet'
  await writeFile(join(currentOf(warehouse), view), 'garbage')
  const before = await warehouse.rows('FROM survey_pace ORDER BY ALL')
  await warehouse.database.close()
  await rm(join(warehouse.directory, 'work.duckdb'))
  const rebuilt = await testWarehouse(warehouse.directory)
  expect(rebuilt.log.lines.map(({ message }) => message)).toContain(
    'the work database was lost and is rebuilt from published Parquet files',
  )
  expect(await rebuilt.rows('FROM survey_pace ORDER BY ALL')).toEqual(before)
  await publish(rebuilt)
  expect(await tablesThatDiffer(rebuilt, currentOf(rebuilt), PUBLISHED_VIEWS)).toEqual([])
})
