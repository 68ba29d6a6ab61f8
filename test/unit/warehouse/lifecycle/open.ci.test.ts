/** Opening a warehouse, whatever the last run left behind. Nothing needs repair by hand. */
import { execFileSync } from 'node:child_process'
import { mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../../../src/model/sync-tables.js'
import { WarehouseDamagedError } from '../../../../src/warehouse/connection/errors.js'
import { requireWritable } from '../../../../src/warehouse/lifecycle/open.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { openElsewhere } from '../../../support/process/other-process.js'
import { some } from '../../../support/suite/cases.js'
import { query } from '../../../support/warehouse/duckdb.js'
import { newDirectory, testWarehouse } from '../../../support/warehouse/warehouse.js'
import { expectRebuilt, open, publishedWarehouse } from './open-shared.js'

describe('a work database that was lost or damaged is rebuilt from the published file', () => {
  test('deleted', async () => {
    const directory = await publishedWarehouse()
    await rm(join(directory, 'work.duckdb'))
    await expectRebuilt(await testWarehouse(directory))
  })

  const damages: readonly (readonly [string, (file: string) => Promise<void>])[] = [
    ['cut off in its middle', async (file) => truncate(file, Math.floor((await stat(file)).size / 2))],
    ['overwritten with garbage', (file) => writeFile(file, 'garbage '.repeat(1000))],
    ['emptied', (file) => writeFile(file, '')],
  ]
  test.each(some(damages, 1))('%s: the damaged file is set aside', async (_, damage) => {
    const directory = await publishedWarehouse()
    await damage(join(directory, 'work.duckdb'))
    const damaged = await readFile(join(directory, 'work.duckdb'))
    await expectRebuilt(await testWarehouse(directory))
    const aside = (await readdir(directory)).filter((name) => name.includes('damaged'))
    expect(aside).toEqual(['work.duckdb.damaged-2026-03-01T000000.000Z'])
    expect(damaged.equals(await readFile(join(directory, aside[0]!)))).toBe(true)
  })

  test('damaged in the middle, which only a query finds: the run ends, and the next one rebuilds it', async () => {
    const directory = await publishedWarehouse()
    const file = join(directory, 'work.duckdb')
    const [segment] = await query(
      file,
      "SELECT block_id FROM pragma_storage_info('surveys') WHERE column_name = 'title' AND persistent",
    )
    // Blocks of 256 KiB follow three headers of 4 KiB.
    const block = 3 * 4096 + Number(segment?.block_id) * 262_144
    const bytes = await readFile(file)
    await writeFile(file, bytes.fill(7, block + 100, block + 200))
    const damaged = await testWarehouse(directory)
    const error = await damaged.rows('SELECT * FROM surveys').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(WarehouseDamagedError)
    expect(error).toMatchObject({ exitCode: 7, message: expect.stringContaining('damaged') })
    await damaged.database.close()
    await expectRebuilt(await testWarehouse(directory))
  })
})

test('the commits of a killed run are kept', async () => {
  const directory = await publishedWarehouse()
  await openElsewhere(directory, 'commit-and-die')
  expect(await readdir(directory)).toContain('work.duckdb.wal')
  const warehouse = await testWarehouse(directory)
  await warehouse.expectRows('SELECT account, survey_id FROM freshness ORDER BY survey_id', [
    ['acme', 1],
    ['acme', 2],
    ['acme', 77],
  ])
  expect(warehouse.log.lines).toEqual([])
})

describe('one process at a time', () => {
  test('a second process is refused, and its message names the holder', async () => {
    const directory = await newDirectory()
    const other = await openElsewhere(directory, 'hold')
    expect(other.told).toMatchObject({ opened: true })
    await expect(open(directory)).rejects.toMatchObject({
      code: 'warehouse_is_held',
      exitCode: 6,
      message: expect.stringMatching(
        new RegExp(`held by "other hold", process ${other.pid} on .+, since 20`),
      ),
    })
    expect((await readdir(directory)).filter((name) => name.includes('damaged'))).toEqual([])
    await other.end()
    const warehouse = await testWarehouse(directory)
    expect(await warehouse.account.position()).toMatchObject({ cursor: null })
  })
})

describe('the directory of a warehouse', () => {
  test('is refused when it is a file', async () => {
    const directory = join(await temporaryDirectory(), 'warehouse')
    await writeFile(directory, 'not a directory')
    await expect(open(directory)).rejects.toMatchObject({ code: 'warehouse_unusable', exitCode: 7 })
    expect(await readFile(directory, 'utf8')).toBe('not a directory')
  })

  test('is refused when the work database is a directory', async () => {
    const directory = await temporaryDirectory()
    await mkdir(join(directory, 'work.duckdb'))
    await writeFile(join(directory, 'work.duckdb', 'precious'), 'data')
    await expect(open(directory)).rejects.toMatchObject({ code: 'warehouse_unusable', exitCode: 7 })
    expect(await readFile(join(directory, 'work.duckdb', 'precious'), 'utf8')).toBe('data')
  })

  // DuckDB waits for a pipe for ever, and no signal ends that.
  test.each(['work.duckdb', 'work.duckdb.wal', 'fieldwork.duckdb'])(
    'is refused when %s is a pipe',
    async (name) => {
      const directory = await temporaryDirectory()
      execFileSync('mkfifo', [join(directory, name)])
      await expect(open(directory)).rejects.toMatchObject({
        exitCode: 7,
        message: expect.stringMatching(/it is not a file/),
      })
    },
  )

  test.each([
    ['work.duckdb', 'a file'],
    ['work.duckdb', 'nothing'],
    ['work.duckdb.wal', 'a file'],
    ['work.duckdb.wal', 'nothing'],
  ])('is refused when %s is a link to %s, which stays as it is', async (name, kind) => {
    const directory = await publishedWarehouse()
    const target = join(await temporaryDirectory(), 'precious')
    if (kind === 'a file') await writeFile(target, 'data')
    await rm(join(directory, name), { force: true })
    await symlink(target, join(directory, name))
    await expect(open(directory)).rejects.toMatchObject({
      code: 'warehouse_unusable',
      message: expect.stringMatching(/it is not a file/),
    })
    expect(await readFile(target, 'utf8').catch(() => 'nothing')).toBe(kind === 'a file' ? 'data' : kind)
  })

  test.each(['link', 'pipe'])('is held also where its note is a %s', async (kind) => {
    const directory = await newDirectory()
    const target = join(await temporaryDirectory(), 'precious')
    await writeFile(target, 'data')
    const note = join(directory, 'work.holder.json')
    if (kind === 'link') await symlink(target, note)
    else execFileSync('mkfifo', [note])
    await using _database = await open(directory)
    expect(JSON.parse(await readFile(note, 'utf8'))).toMatchObject({ command: 'a test' })
    expect(await readFile(target, 'utf8')).toBe('data')
  })

  // Seed 24 of the simulation: a disk that became full at this line was reported as a bug.
  test('is refused when the note about its holder cannot be written', async () => {
    const directory = await newDirectory()
    await mkdir(join(directory, 'work.holder.json'))
    await expect(open(directory)).rejects.toMatchObject({ code: 'warehouse_unusable', exitCode: 7 })
    await rm(join(directory, 'work.holder.json'), { recursive: true })
    await (await open(directory)).close()
  })

  test('is created with its parents when it does not exist', async () => {
    const directory = join(await temporaryDirectory(), 'a', 'b', 'c')
    await requireWritable(directory)
    expect(await readdir(directory)).toEqual([])
  })
})

test('a warehouse of a newer version is refused and stays unchanged', async () => {
  const directory = await publishedWarehouse()
  const warehouse = await testWarehouse(directory)
  await warehouse.run(
    "INSERT INTO _sync.schema_version (version, applied_at, description) VALUES (99, now(), 'from the future')",
  )
  await warehouse.database.close()
  const work = join(directory, 'work.duckdb')
  const before = await readFile(work)
  await expect(open(directory)).rejects.toMatchObject({
    code: 'warehouse_is_newer',
    exitCode: 7,
    message: `${work} has schema version 99, but this version of fieldwork-sync supports only up to ${SCHEMA_VERSION}. Use the fieldwork-sync that wrote it, or a newer one`,
  })
  expect(await readdir(directory)).toEqual(['fieldwork.duckdb', 'work.duckdb'])
  expect(before.equals(await readFile(work))).toBe(true)
})

test('a full disk ends the run as a failure of the warehouse, and earlier commits are kept', async () => {
  const directory = await publishedWarehouse()
  const { told } = await openElsewhere(directory, 'fill')
  expect(told).toMatchObject({
    code: 'warehouse_unusable',
    exitCode: 7,
    message: expect.stringContaining('File too large'),
  })
  const warehouse = await testWarehouse(directory)
  expect(told?.filled).toBeGreaterThan(0)
  await warehouse.expectRows(
    `SELECT count(*) AS surveys, count(DISTINCT survey_id) AS ids, max(survey_id) AS last
      FROM freshness WHERE last_error IS NOT NULL`,
    [[told?.filled, told?.filled, Number(told?.filled) - 1]],
  )
  expect(warehouse.log.lines).toEqual([])
})
