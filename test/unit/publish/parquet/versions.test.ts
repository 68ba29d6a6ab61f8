/** Parquet versions: which stay, how damaged and unfinished ones are handled, and file systems without links. */
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { StoppedError } from '../../../../src/base/errors.js'
import { currentOf, parquetOf, publishParquet } from '../../../support/warehouse/parquet.js'
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
