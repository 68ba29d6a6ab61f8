/** Parquet versions: which stay, how damaged and unfinished ones are handled, and file systems without links. */
import { cp, mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { StoppedError } from '../../../../src/base/errors.js'
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
import type { TestWarehouse } from '../../../support/warehouse/warehouse.js'
import {
  fileSystem,
  lacking,
  night,
  publishedOnce,
  titleIn,
  versionOf,
  versionsIn,
} from './versions-shared.js'

const SURVEYS = 'surveys/account=acme/created_month=2025-12/data.parquet'

/** A published warehouse whose version 1 is kept as version 2 too. */
const publishedTwice = async (): Promise<TestWarehouse> => {
  const warehouse = await publishedOnce()
  await cp(versionOf(warehouse, '000001'), versionOf(warehouse, '000002'), { recursive: true })
  await rm(currentOf(warehouse))
  await symlink('versions/000002', currentOf(warehouse))
  return warehouse
}

test('the last three versions stay unchanged, and the files of killed publishes are removed', async () => {
  const warehouse = await publishedTwice()
  const parquet = parquetOf(warehouse)
  await mkdir(join(parquet, 'versions', '.000007.4711.publishing', 'surveys'), { recursive: true })
  await writeFile(join(parquet, '.current.4711.publishing'), 'a former link')
  await writeFile(join(parquet, 'versions', 'notes.txt'), 'of another program')
  for (const number of [1, 2]) {
    await night(warehouse, number)
    await publishParquet(warehouse)
  }
  expect(await versionsIn(warehouse)).toEqual(['000002', '000003', '000004', 'notes.txt'])
  expect((await readdir(parquet)).toSorted()).toEqual(['current', 'versions'])
  for (const [place, title] of ['Survey 1', 'night 1', 'night 2'].entries())
    expect(await titleIn(warehouse, versionOf(warehouse, `00000${place + 2}`))).toEqual([title])
  expect(await titleIn(warehouse, currentOf(warehouse))).toEqual(['night 2'])
  expect(warehouse.log.lines.filter(({ level }) => level !== 'debug')).toEqual([])
})

describe('a previous version that has changed', () => {
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

test('a foreign file or directory is not removed: exit 7', async () => {
  const warehouse = await publishedOnce()
  const saved = `${parquetOf(warehouse)}.saved`
  await rename(parquetOf(warehouse), saved)
  for (const [place, removed, file] of [
    ['in the place of the directory, a file', '.', '.'],
    ['in the place of current, a file', 'current', 'current'],
    ['in the place of current, a directory', 'current', 'current/file'],
    ['in the place of the versions, a file', 'versions', 'versions'],
  ] as const) {
    await cp(saved, parquetOf(warehouse), { recursive: true, verbatimSymlinks: true })
    const precious = join(parquetOf(warehouse), file)
    await rm(join(parquetOf(warehouse), removed), { recursive: true })
    await mkdir(dirname(precious), { recursive: true })
    await writeFile(precious, 'precious')
    await expect(publishParquet(warehouse), place).rejects.toMatchObject({
      code: 'warehouse_unusable',
      exitCode: 7,
      message: expect.stringContaining(`cannot publish ${currentOf(warehouse)}: `),
    })
    expect(await readFile(precious, 'utf8'), place).toBe('precious')
    await rm(parquetOf(warehouse), { recursive: true })
  }
})

test('a full disk during a publish, and a signal between two files: readers keep the previous version, and the next publishes', async () => {
  const warehouse = await publishedOnce()
  await night(warehouse, 1)
  const full = publishParquet(warehouse, fileSystem(warehouse, { hardLinks: lacking('ENOSPC') }))
  const message = expect.stringMatching(/ENOSPC: no\. The published Parquet is unchanged/)
  await expect(full).rejects.toMatchObject({ exitCode: 7, message })
  expect(await versionsIn(warehouse)).toEqual(['000001'])
  const stop = new AbortController()
  const stopping = { hardLinks: () => Promise.resolve(stop.abort(new StoppedError('a signal'))) }
  const stopped = publishParquet(warehouse, fileSystem(warehouse, stopping), stop.signal)
  await expect(stopped).rejects.toThrow('a signal')
  expect(await versionsIn(warehouse)).toEqual(['000001'])
  expect(await titleIn(warehouse, currentOf(warehouse))).toEqual(['Survey 1'])
  await publishParquet(warehouse)
  expect(await titleIn(warehouse, currentOf(warehouse))).toEqual(['night 1'])
})
