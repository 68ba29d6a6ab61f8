/** Parquet versions: which stay, how damaged and unfinished ones are handled, and file systems without links. */
import { cp, mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { StoppedError } from '../../../../src/base/errors.js'
import { createLacks, type FileSystemLacks } from '../../../../src/publish/file-system-lacks.js'
import { scribble } from '../../../support/files/damage.js'
import { SLOW, slow } from '../../../support/suite/slow.js'
import { minute } from '../../../support/time/instants.js'
import {
  currentOf,
  filesOf,
  isLink,
  manifestOf,
  parquetOf,
  publishedCopies,
  publishParquet,
  tablesThatDiffer,
  writtenAnew,
} from '../../../support/warehouse/parquet.js'
import { bundle, list, progress, source, survey } from '../../../support/warehouse/rows.js'
import type { TestWarehouse } from '../../../support/warehouse/warehouse.js'

const publishedOnce = publishedCopies(async ({ account }) => {
  await list(account, [survey(1)], minute(0), 'full')
  await account.commitBundles([bundle(1, minute(1), [source(11)], progress(5))], 'run-1')
})

/** One more night changes the title of the survey, and so one file. */
const night = ({ run }: TestWarehouse, number: number): Promise<void> =>
  run(`UPDATE surveys SET title = 'night ${number}'`)

const titleIn = async (warehouse: TestWarehouse, version: string) =>
  (await warehouse.rows(`SELECT title FROM read_parquet('${version}/surveys/**/*.parquet')`)).map(
    ({ title }) => title,
  )

const versionsIn = async (warehouse: TestWarehouse): Promise<readonly string[]> =>
  (await readdir(join(parquetOf(warehouse), 'versions'))).toSorted()

const versionOf = (warehouse: TestWarehouse, name: string): string =>
  join(parquetOf(warehouse), 'versions', name)

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

  test.skipIf(!SLOW)('is removed when it never became current because its publish was killed', async () => {
    const warehouse = await publishedOnce()
    await cp(versionOf(warehouse, '000001'), versionOf(warehouse, '000002'), { recursive: true })
    await writeFile(join(versionOf(warehouse, '000002'), 'half'), '')
    await night(warehouse, 1)
    await publishParquet(warehouse)
    expect(await versionsIn(warehouse)).toEqual(['000001', '000002'])
    expect(await readdir(versionOf(warehouse, '000002'))).not.toContain('half')
    expect(await tablesThatDiffer(warehouse)).toEqual([])
  })

  const damages: readonly (readonly [string, (file: string) => Promise<void>])[] = [
    ['with a changed byte in a file', (file) => scribble(file, 40, 1)],
    ['with a truncated file', (file) => truncate(file, 100)],
    ['with a deleted file', (file) => rm(file)],
  ]
  test.each(SLOW ? damages : damages.slice(0, 1))('%s gets that file again, alone', async (_, damage) => {
    const warehouse = await publishedOnce()
    const before = await filesOf(currentOf(warehouse))
    await damage(join(versionOf(warehouse, '000001'), SURVEYS))
    await publishParquet(warehouse)
    expect(await tablesThatDiffer(warehouse)).toEqual([])
    expect(writtenAnew(before, await filesOf(currentOf(warehouse)))).toEqual([SURVEYS])
  })

  const lost: readonly (readonly [string, (manifest: string) => Promise<void>])[] = [
    ['is no JSON', (manifest) => writeFile(manifest, '{"format": 1')],
    ['is gone', (manifest) => rm(manifest)],
  ]
  slow.each(lost)('whose manifest %s makes the next publish write everything again', async (_, damage) => {
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

type Attempt = FileSystemLacks['attempt']

/** A file system with other operations of these kinds. */
const fileSystem = (
  { log }: TestWarehouse,
  others: { [Lack in Parameters<Attempt>[0]]?: Parameters<Attempt>[1] },
) => {
  const lacks = createLacks(log)
  const attempt: Attempt = (lack, real) => lacks.attempt(lack, others[lack] ?? real)
  return { ...lacks, attempt }
}

const lacking = (code: string) => () => Promise.reject(Object.assign(new Error(`${code}: no`), { code }))

describe('a file system without links', () => {
  test.each(SLOW ? ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'] : ['EPERM'])(
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

  test.skipIf(!SLOW)('that gets links again has its current directory turned into a version', async () => {
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

  test.skipIf(!SLOW)('that lacks only hard links gets copied files, and current is a link', async () => {
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
