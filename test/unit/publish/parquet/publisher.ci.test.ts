/** Publishing Parquet: the content of the files, and which of them are written. */
import { readFile, readlink, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../../../src/model/sync-tables.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { some } from '../../../support/suite/cases.js'
import { minute } from '../../../support/time/instants.js'
import {
  currentOf,
  filesOf,
  manifestOf,
  parquetOf,
  publishParquet,
  tablesThatDiffer,
  writtenAnew,
} from '../../../support/warehouse/parquet.js'
import { bundle, list, progress, source, survey } from '../../../support/warehouse/rows.js'
import { FEBRUARY, FEBRUARY_FILE, JANUARY, publishedOnce } from './publisher-shared.js'

describe('a published version', () => {
  test('holds the rows of every table, exactly and with their types, and of accounts whose names readers could misread', async () => {
    const warehouse = await publishedOnce()
    const names = ['null', '__HIVE_DEFAULT_PARTITION__', '007', 'NULL', '2026-01-01', 'true', '-_']
    for (const name of some(names, 1))
      await list(accountWarehouse(warehouse.database, name), [survey(1, JANUARY)], minute(2), 'full')
    const extra = { _extra: '{"new":"field"}', title: 'Ünïcode "quoted" \u0000 \ufeff', project_id: null }
    await list(warehouse.account, [survey(4, { ...FEBRUARY, ...extra })], minute(2))
    const odd = { completion_rate: 0.1 + 0.2, drop_out_rate: 1e-300, interviews_count: 2 ** 53 - 1 }
    await warehouse.account.commitBundles([bundle(4, minute(3), [source(40)], progress(1, odd))], 'run-1')
    const report = await publishParquet(warehouse)
    expect(await tablesThatDiffer(warehouse)).toEqual([])
    const manifest = await manifestOf(currentOf(warehouse))
    expect(report).toEqual([{ format: 'parquet', path: currentOf(warehouse), bytes: manifest.bytes }])
    expect(manifest).toMatchObject({ version: 2, schema_version: SCHEMA_VERSION, run_id: 'run-1', runs: 1 })
  })

  test('is partitioned by account and UTC month of the survey, in every table of a survey', async () => {
    const warehouse = await publishedOnce()
    const { tables } = await manifestOf(currentOf(warehouse))
    const ofSurveys = tables.filter(({ schema }) => schema === 'main')
    for (const { name: table } of ofSurveys) {
      expect([...(await filesOf(join(currentOf(warehouse), table))).keys()], table).toEqual([
        'account=acme/created_month=2026-01/data.parquet',
        FEBRUARY_FILE,
        ...(table === 'plan' ? ['account=acme/created_month=unknown/data.parquet'] : []),
      ])
    }
    expect(
      await warehouse.rows(`SELECT account, created_month, count(*) AS sources
        FROM read_parquet('${currentOf(warehouse)}/sample_sources/**/*.parquet', hive_partitioning = true) GROUP BY ALL ORDER BY ALL`),
    ).toEqual([
      { account: 'acme', created_month: '2026-01', sources: 4 },
      { account: 'acme', created_month: '2026-02', sources: 2 },
    ])
  })

  test('has rows sorted by key, statistics, zstd, and a comment on every table and column', async () => {
    const warehouse = await publishedOnce()
    const file = `${currentOf(warehouse)}/sample_source_progress/account=acme/created_month=2026-01/data.parquet`
    expect(await warehouse.rows(`SELECT survey_id, sample_source_id FROM read_parquet('${file}')`)).toEqual(
      [1, 1, 2, 2].map((survey_id, at) => ({ survey_id, sample_source_id: survey_id * 10 + (at % 2) })),
    )
    const READ = '2026-03-01 00:01:00+00'
    const chunks = await warehouse.rows(`SELECT path_in_schema, compression, stats_min_value, stats_max_value
      FROM parquet_metadata('${file}') WHERE path_in_schema IN ('survey_id', '_observed_at')`)
    expect(chunks).toEqual([
      { path_in_schema: 'survey_id', compression: 'ZSTD', stats_min_value: '1', stats_max_value: '2' },
      { path_in_schema: '_observed_at', compression: 'ZSTD', stats_min_value: READ, stats_max_value: READ },
    ])
    const schema = await warehouse.rows(
      `SELECT type, logical_type FROM parquet_schema('${file}') WHERE name = '_observed_at'`,
    )
    const logical_type = expect.stringMatching(/isAdjustedToUTC=1/)
    expect(schema).toMatchObject([{ type: 'INT64', logical_type }])
    const metadata = await warehouse.rows(
      `SELECT decode(key) AS name, decode(value) AS text FROM parquet_kv_metadata('${file}')`,
    )
    const texts = new Map(metadata.map(({ name, text }) => [name, String(text)]))
    expect(texts.get('fieldwork_sync.table')).toBe('main.sample_source_progress')
    expect(texts.get('fieldwork_sync.comment')).toMatch(/^Current fieldwork progress of sample sources/)
    const comments: Record<string, string> = JSON.parse(texts.get('fieldwork_sync.column_comments') ?? '{}')
    const account = expect.stringMatching(/account/)
    expect(comments).toMatchObject({ account, survey_id: 'ID of the survey' })
    expect(Object.values(comments).filter((comment) => comment === '')).toEqual([])
  })
})

describe('the next version', () => {
  test('writes all files of a table that an older version of the program laid out, and no others', async () => {
    const warehouse = await publishedOnce()
    const before = await filesOf(currentOf(warehouse))
    const manifest = await manifestOf(currentOf(warehouse))
    const tables = manifest.tables.map((table) =>
      table.name === 'surveys' ? { ...table, layout: 'older' } : table,
    )
    await writeFile(join(currentOf(warehouse), 'manifest.json'), JSON.stringify({ ...manifest, tables }))
    await publishParquet(warehouse)
    expect(writtenAnew(before, await filesOf(currentOf(warehouse)))).toEqual(
      ['01', '02'].map((month) => `surveys/account=acme/created_month=2026-${month}/data.parquet`),
    )
  })
})

test('the link is relative, so that a warehouse can be moved as a whole', async () => {
  const warehouse = await publishedOnce()
  expect(await readlink(currentOf(warehouse))).toBe('versions/000001')
  expect(await realpath(currentOf(warehouse))).toBe(
    join(await realpath(parquetOf(warehouse)), 'versions', '000001'),
  )
  expect(await readFile(join(currentOf(warehouse), 'manifest.json'), 'utf8')).toMatch(/^\{\n "format": 1,/)
})
