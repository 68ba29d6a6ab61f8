/** Parquet versions: which stay, how damaged and unfinished ones are handled, and file systems without links. */
import { cp, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scribble } from '../../../support/files/damage.js'
import { some } from '../../../support/suite/cases.js'
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
  publishedTwice,
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

  test('is still the base of the next one when current was removed by hand', async () => {
    const warehouse = await publishedOnce()
    const before = await filesOf(currentOf(warehouse))
    await rm(currentOf(warehouse))
    await publishParquet(warehouse)
    expect((await manifestOf(currentOf(warehouse))).version).toBe(2)
    expect(writtenAnew(before, await filesOf(currentOf(warehouse)))).toEqual([])
  })

  const damages: readonly (readonly [string, (file: string) => Promise<void>])[] = [
    ['with a changed byte in a file', (file) => scribble(file, 40, 1)],
    ['with a truncated file', (file) => truncate(file, 100)],
    ['with a deleted file', (file) => rm(file)],
  ]

  test.each(some(damages, 1))('%s gets that file again, alone', async (_, damage) => {
    const warehouse = await publishedOnce()
    const before = await filesOf(currentOf(warehouse))
    await damage(join(versionOf(warehouse, '000001'), SURVEYS))
    await publishParquet(warehouse)
    expect(await tablesThatDiffer(warehouse)).toEqual([])
    expect(writtenAnew(before, await filesOf(currentOf(warehouse)))).toEqual([SURVEYS])
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

  test.each(some(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'], 1))(
    'of any kind (%s) gets copies as versions, a directory as current, and a warning per publish',
    async (code) => {
      const links = { hardLinks: lacking(code), symbolicLinks: lacking(code) }
      const warehouse = await publishedTwice()
      await rm(currentOf(warehouse))
      for (const number of [3, 4]) {
        await night(warehouse, number)
        await publishParquet(warehouse, fileSystem(warehouse, links))
        expect(await isLink(currentOf(warehouse))).toBe(false)
        expect((await manifestOf(currentOf(warehouse))).version).toBe(number)
      }
      expect(await tablesThatDiffer(warehouse)).toEqual([])
      expect(await versionsIn(warehouse)).toEqual(['000002', '000003'])
      expect(await titleIn(warehouse, versionOf(warehouse, '000003'))).toEqual(['night 3'])
      const warnings = warehouse.log.lines.filter(({ level }) => level === 'warn')
      expect(warnings).toHaveLength(2)
      const both = /^this file system has no hard links: .*; and no symbolic links: /
      expect(warnings.at(-1)?.message).toMatch(both)
    },
  )
})

const SURVEYS = 'surveys/account=acme/created_month=2025-12/data.parquet'
