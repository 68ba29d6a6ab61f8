/** Which rows of a catalog follow from the manifests of versions. */
import { describe, expect, test } from 'vitest'
import { type CatalogRow, CatalogRows } from '../../../../src/publish/ducklake/rows.js'
import type { Manifest } from '../../../../src/publish/parquet/manifest.js'
import { ALL_VIEWS } from '../../../../src/warehouse/views/all.js'
import { COLUMNS, manifestWith } from '../../../support/storage/manifests.js'

const [ACCOUNT, ID, CREATED] = COLUMNS as [(typeof COLUMNS)[0], (typeof COLUMNS)[0], (typeof COLUMNS)[0]]
const TITLE = { name: 'title', type: 'VARCHAR', nullable: true, comment: 'Title' } as const
const JANUARY = 'acme|2026-01|v1'
const FEBRUARY = 'acme|2026-02|v1'

const catalogOf = (...manifests: readonly Manifest[]): CatalogRows => {
  const catalog = new CatalogRows()
  for (const manifest of manifests) catalog.add(manifest)
  return catalog
}

const lives = (rows: readonly CatalogRow[], ...names: readonly string[]) =>
  rows.map((row) => [...names.map((name) => row[name]), row.begin_snapshot, row.end_snapshot])

/** The files as `v1 2026-01`. */
const filesOf = (catalog: CatalogRows) =>
  lives(catalog.of('data_file'), 'path', 'row_id_start').map(([path, ...others]) => [
    String(path).replace(/^.*created_month=(.*)\/(v\d+)-.*$/, '$2 $1'),
    ...others,
  ])

const schemaVersions = (catalog: CatalogRows) =>
  catalog.of('snapshot').map(({ snapshot_id, schema_version }) => [snapshot_id, schema_version])

describe('the rows of manifests', () => {
  test('a file that comes, goes and returns is a row each time, and changes no schema', () => {
    const catalog = catalogOf(
      manifestWith(1, { files: { [JANUARY]: 2, [FEBRUARY]: 3 } }),
      manifestWith(2, { files: { [JANUARY]: 2 } }),
      manifestWith(4, { files: { [JANUARY]: 2, [FEBRUARY]: 3 } }),
    )
    expect(filesOf(catalog)).toEqual([
      ['v1 2026-01', 0, 1, null],
      ['v1 2026-02', 2, 1, 2],
      ['v1 2026-02', 5, 4, null],
    ])
    expect(schemaVersions(catalog)).toEqual([
      [1, 1],
      [2, 1],
      [4, 1],
    ])
    expect(catalog.of('snapshot_changes').map(({ changes_made }) => changes_made)).toEqual([
      'inserted_into_table:2',
      'deleted_from_table:2',
      'inserted_into_table:2',
    ])
    expect(catalog.of('snapshot').map(({ next_file_id }) => next_file_id)).toEqual([4, 4, 5])
  })

  test('a new column, a changed type and a changed order keep the numbers of the columns', () => {
    const [files, id] = [{ [JANUARY]: 2 }, { ...ID, type: 'VARCHAR', comment: 'Text' } as const]
    const catalog = catalogOf(
      manifestWith(1, { files, columns: [ACCOUNT, CREATED, ID] }),
      manifestWith(2, { files: { 'acme|2026-01|v2': 2 }, columns: [ACCOUNT, TITLE, id, CREATED] }),
    )
    expect(lives(catalog.of('column'), 'column_id', 'column_order', 'column_name', 'column_type')).toEqual([
      [1, 0, 'account', 'varchar', 1, null],
      [2, 1, 'created_at', 'timestamptz', 1, 2],
      [3, 2, 'id', 'int64', 1, 2],
      [4, 1, 'title', 'varchar', 2, null],
      [3, 2, 'id', 'varchar', 2, null],
      [2, 3, 'created_at', 'timestamptz', 2, null],
    ])
    expect(lives(catalog.of('column_tag'), 'column_id', 'value').slice(2)).toEqual([
      [3, 'Survey id', 1, 2],
      [4, 'Title', 2, null],
      [3, 'Text', 2, null],
    ])
    expect(catalog.of('name_mapping').map(Object.values)).toEqual([
      [1, 0, 'account', 1, true],
      [1, 1, 'created_at', 2, false],
      [1, 2, 'id', 3, false],
      [3, 0, 'account', 1, true],
      [3, 1, 'title', 4, false],
      [3, 2, 'id', 3, false],
      [3, 3, 'created_at', 2, false],
    ])
    expect(catalog.of('data_file').map(({ mapping_id }) => mapping_id)).toEqual([1, 3])
    expect(schemaVersions(catalog)).toEqual([
      [1, 1],
      [2, 2],
    ])
  })

  test('a table that is dropped and returns has its number and its comment again', () => {
    const full = manifestWith(1, { files: { [JANUARY]: 2 } })
    const catalog = catalogOf(full, { ...full, version: 2, tables: [] }, { ...full, version: 3 })
    expect(lives(catalog.of('table'), 'table_id')).toEqual([
      [2, 1, 2],
      [2, 3, null],
    ])
    const tags = catalog.of('tag').filter(({ object_id }) => object_id === 2)
    expect(lives(tags, 'value')).toEqual([
      ['Surveys', 1, 2],
      ['Surveys', 3, null],
    ])
    expect(schemaVersions(catalog).map(([, schema]) => schema)).toEqual([1, 2, 3])
    expect(catalog.of('schema_versions').map(Object.values)).toEqual([
      [1, 1, 2],
      [3, 3, 2],
    ])
  })

  test('bounds are of the partition alone, and an empty table has no file', () => {
    const files = { 'ü%1=x|2024-02|v1': 2, '007|unknown|v1': 1, 'none|unknown|v2': 0, 'a b|0999-12|v1': 4 }
    const catalog = catalogOf(manifestWith(1, { files }))
    const stats = catalog.of('file_column_stats')
    expect(stats.map(({ data_file_id, ...row }) => Object.values(row).slice(1))).toEqual([
      [1, 2, 0, 'ü%1=x', 'ü%1=x'],
      [3, 2, 0, '2024-02-01 00:00:00+00', '2024-02-29 23:59:59.999999+00'],
      [1, 1, 0, '007', '007'],
      [1, 4, 0, 'a b', 'a b'],
      [3, 4, 0, '0999-12-01 00:00:00+00', '0999-12-31 23:59:59.999999+00'],
    ])
    expect(catalog.of('data_file')).toHaveLength(3)
  })

  test('every view is there, and no view that was published as files', () => {
    const manifest = manifestWith(1, { files: { [JANUARY]: 2 } })
    const tables = manifest.tables.flatMap((table) => [
      table,
      { ...table, name: 'survey_pace', is_view: true },
    ])
    const catalog = catalogOf({ ...manifest, tables })
    expect(catalog.of('view').map(({ view_name }) => view_name)).toEqual(ALL_VIEWS.map(({ name }) => name))
    expect(catalog.of('table').map(({ table_name }) => table_name)).toEqual(['surveys'])
    expect(catalog.of('tag').map(({ value }) => value)).toEqual(
      expect.arrayContaining(ALL_VIEWS.map(({ comment }) => comment)),
    )
  })

  test('times grow although the clock was put back', () => {
    const published_at = '2026-03-02T02:00:00.000Z'
    const catalog = catalogOf(
      { ...manifestWith(1, { files: {} }), published_at },
      { ...manifestWith(2, { files: {} }), published_at: '2026-03-01T00:00:00.000Z' },
    )
    const times = catalog.of('snapshot').map(({ snapshot_time }) => snapshot_time)
    expect(times).toEqual([published_at, '2026-03-02T02:00:00.001Z'])
  })

  test('equal manifests make equal rows', () => {
    const manifests = [manifestWith(1, { files: { [JANUARY]: 2 } }), manifestWith(2, { files: {} })]
    const [one, other] = [catalogOf(...manifests), catalogOf(...manifests)]
    expect(one).toEqual(other)
    expect(String(one.of('table')[0]?.table_uuid)).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  })
})
