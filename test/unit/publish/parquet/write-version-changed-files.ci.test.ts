/** Parquet files for a bucket: which of them are written, and under which keys. No file of an earlier version is on the disk. */
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Manifest } from '../../../../src/publish/parquet/manifest.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { minute } from '../../../support/time/instants.js'
import { list, survey } from '../../../support/warehouse/rows.js'
import { copiesOf, testWarehouse } from '../../../support/warehouse/warehouse.js'
import { FEBRUARY, filesIn, JANUARY, writeFiles, writeFirst } from './write-version-changed-files-shared.js'

const keysOf = (manifest: Manifest) => filesIn(manifest).map(({ path }) => path)

let first: Awaited<ReturnType<typeof writeFirst>> | null = null
const firstCopy = copiesOf(async (warehouse) => {
  await list(warehouse.account, [survey(1, JANUARY), survey(2, FEBRUARY)], minute(0), 'full')
  await list(accountWarehouse(warehouse.database, 'a b'), [survey(1, JANUARY)], minute(0), 'full')
  first = await writeFirst(warehouse)
})

/** Surveys of two months, and their first version, which is written once for all tests. Its files are not on the disk. */
const twoMonths = async () => {
  const warehouse = await testWarehouse(await firstCopy())
  if (first === null) throw new Error('nothing was written')
  return { warehouse, ...first }
}

test('files for a bucket have keys with table, partition, version, run and checksum', async () => {
  const { manifest, contents } = await twoMonths()
  const keys = [...contents.keys()].map((key) => key.replace(/[0-9a-f]{16}\.parquet$/, 'SHA.parquet'))
  expect(keys).toContain('data/surveys/account=acme/created_month=2026-01/v7-run-7-SHA.parquet')
  expect(keys).toContain('data/surveys/account=a%20b/created_month=2026-01/v7-run-7-SHA.parquet')
  expect(keys).toContain('data/_sync/runs/v7-run-7-SHA.parquet')
  expect(keysOf(manifest)).toEqual([...contents.keys()])
  for (const { path, sha256, bytes } of filesIn(manifest)) {
    const content = contents.get(path) ?? ''
    expect(path).toContain(`-${sha256.slice(0, 16)}.parquet`)
    expect(createHash('sha256').update(content).digest('hex')).toBe(sha256)
    expect(content).toHaveLength(bytes)
  }
})

test('files for a bucket are written only for changed partitions; the others keep their keys', async () => {
  const { warehouse, manifest } = await twoMonths()
  const same = await writeFiles(warehouse, { number: 8, base: manifest })
  expect(same.upload).toEqual([])
  expect(same.manifest).toEqual({ ...manifest, version: 8 })

  await warehouse.run(`UPDATE surveys SET title = 'changed' WHERE id = 2`)
  const third = await writeFiles(warehouse, { number: 9, base: same.manifest })
  expect(third.upload.map(({ key }) => key.split('/v')[0])).toEqual([
    'data/surveys/account=acme/created_month=2026-02',
    'data/surveys_today',
  ])
  const kept = keysOf(third.manifest).filter((key) => keysOf(manifest).includes(key))
  expect(kept).toHaveLength(filesIn(third.manifest).length - 2)
  expect(
    filesIn(third.manifest)
      .map(({ written_by }) => written_by)
      .toSorted(),
  ).toEqual([...kept.map(() => 7), 9, 9])
  const onDisk = (await readdir(third.directory, { recursive: true })).filter((name) =>
    name.endsWith('.parquet'),
  )
  const written = onDisk.map((name) => join(third.directory, name)).toSorted()
  expect(written).toEqual(third.upload.map(({ file }) => file).toSorted())
})

test('files for a bucket are written anew when the base lacks them, because the bucket lost them', async () => {
  const { warehouse, manifest } = await twoMonths()
  // Of a table, and of a view.
  for (const missing of [keysOf(manifest).at(0), keysOf(manifest).at(-1)]) {
    const present = manifest.tables.map((table) => ({
      ...table,
      files: table.files.filter(({ path }) => path !== missing),
    }))
    const second = await writeFiles(warehouse, { number: 8, base: { ...manifest, tables: present } })
    expect(second.upload.map(({ key }) => key)).toEqual([missing?.replace('/v7-run-7-', '/v8-run-8-')])
    expect(keysOf(second.manifest)).not.toContain(missing)
  }
})
