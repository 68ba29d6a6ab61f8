/** Parquet versions: which stay, how damaged and unfinished ones are handled, and file systems without links. */
import { cp, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  currentOf,
  filesOf,
  isLink,
  manifestOf,
  parquetOf,
  publishParquet,
  tablesThatDiffer,
  writtenAnew,
} from '../../../support/warehouse/parquet.js'
import {
  fileSystem,
  lacking,
  night,
  publishedOnce,
  titleIn,
  versionOf,
  versionsIn,
} from './versions-shared.js'

describe('a previous version that has changed', () => {
  test('is removed when it never became current because its publish was killed', async () => {
    const warehouse = await publishedOnce()
    await cp(versionOf(warehouse, '000001'), versionOf(warehouse, '000002'), { recursive: true })
    await writeFile(join(versionOf(warehouse, '000002'), 'half'), '')
    await night(warehouse, 1)
    await publishParquet(warehouse)
    expect(await versionsIn(warehouse)).toEqual(['000001', '000002'])
    expect(await readdir(versionOf(warehouse, '000002'))).not.toContain('half')
    expect(await tablesThatDiffer(warehouse)).toEqual([])
  })

  const lost: readonly (readonly [string, (manifest: string) => Promise<void>])[] = [
    ['is no JSON', (manifest) => writeFile(manifest, '{"format": 1')],
    ['is gone', (manifest) => rm(manifest)],
  ]
  test.each(lost)('whose manifest %s makes the next publish write everything again', async (_, damage) => {
    const warehouse = await publishedOnce()
    const before = await filesOf(currentOf(warehouse))
    await damage(join(versionOf(warehouse, '000001'), 'manifest.json'))
    await publishParquet(warehouse)
    expect((await manifestOf(currentOf(warehouse))).version).toBe(2)
    expect(await tablesThatDiffer(warehouse)).toEqual([])
    const after = await filesOf(currentOf(warehouse))
    expect(writtenAnew(before, after)).toEqual([...after.keys()])
  })
})

describe('a file system without links', () => {
  test('that gets links again has its current directory turned into a version', async () => {
    const warehouse = await publishedOnce()
    await rm(parquetOf(warehouse), { recursive: true })
    const links = { hardLinks: lacking('EPERM'), symbolicLinks: lacking('EPERM') }
    await publishParquet(warehouse, fileSystem(warehouse, links))
    await night(warehouse, 1)
    await publishParquet(warehouse)
    expect(await isLink(currentOf(warehouse))).toBe(true)
    expect(await versionsIn(warehouse)).toEqual(['000001', '000002'])
    expect(await titleIn(warehouse, currentOf(warehouse))).toEqual(['night 1'])
  })

  test('that lacks only hard links gets copied files, and current is a link', async () => {
    const warehouse = await publishedOnce()
    const before = await filesOf(currentOf(warehouse))
    await publishParquet(warehouse, fileSystem(warehouse, { hardLinks: lacking('EPERM') }))
    expect(await isLink(currentOf(warehouse))).toBe(true)
    const after = await filesOf(currentOf(warehouse))
    expect(writtenAnew(before, after)).toEqual([...after.keys()])
    expect((await manifestOf(currentOf(warehouse))).tables.flatMap(({ files }) => files)).toSatisfy(
      (files: readonly { written_by: number }[]) => files.every(({ written_by }) => written_by === 1),
    )
  })
})
