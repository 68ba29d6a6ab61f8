/** Opening a warehouse, whatever the last run left behind. Nothing needs repair by hand. */
import { execFileSync } from 'node:child_process'
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../../../src/model/sync-tables.js'
import { createDuckdbPublisher } from '../../../../src/publish/duckdb.js'
import { createLacks } from '../../../../src/publish/file-system-lacks.js'
import { publishedPlaces } from '../../../../src/publish/formats.js'
import { WarehouseDamagedError } from '../../../../src/warehouse/connection/errors.js'
import { openWarehouse, requireWritable } from '../../../../src/warehouse/lifecycle/open.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { testLog } from '../../../support/log/test-log.js'
import { canContain, holdOpen, openElsewhere } from '../../../support/process/other-process.js'
import { SLOW } from '../../../support/suite/slow.js'
import { minute } from '../../../support/time/instants.js'
import { testClock } from '../../../support/time/test-clock.js'
import { query } from '../../../support/warehouse/duckdb.js'
import { bundle, list, progress, source, survey } from '../../../support/warehouse/rows.js'
import { queuedTasks } from '../../../support/warehouse/run-dependencies.js'
import {
  copiesOf,
  newDirectory,
  type TestWarehouse,
  testWarehouse,
} from '../../../support/warehouse/warehouse.js'

/** A warehouse with two surveys, published, and closed again. */
const publishedWarehouse = copiesOf(async ({ account, database, directory, log }) => {
  await list(account, [survey(1), survey(2)], minute(0), 'full')
  await account.commitBundles([bundle(1, minute(1), [source(11)], progress(5))], 'run-1')
  await createDuckdbPublisher(database, directory, createLacks(log)).publish(new AbortController().signal)
})

const expectRebuilt = async (warehouse: TestWarehouse): Promise<void> => {
  await warehouse.expectRows('SELECT id, title FROM surveys ORDER BY id', [
    [1, 'Survey 1'],
    [2, 'Survey 2'],
  ])
  expect(await warehouse.account.position()).toMatchObject({ cursor: minute(-5), fullListedAt: minute(0) })
  expect((await queuedTasks(warehouse.account, minute(10))).map(({ surveyId }) => surveyId)).toEqual([2])
  expect(warehouse.log.lines.map(({ message }) => message)).toContain(
    'the work database was lost and is rebuilt from the published file',
  )
}

const open = (directory: string) =>
  openWarehouse({
    directory,
    clock: testClock(),
    log: testLog(),
    command: 'a test',
    published: publishedPlaces(directory),
  })

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
  test.each(SLOW ? damages : damages.slice(0, 1))('%s: the damaged file is set aside', async (_, damage) => {
    const directory = await publishedWarehouse()
    await damage(join(directory, 'work.duckdb'))
    const damaged = await readFile(join(directory, 'work.duckdb'))
    await expectRebuilt(await testWarehouse(directory))
    const aside = (await readdir(directory)).filter((name) => name.includes('damaged'))
    expect(aside).toEqual(['work.duckdb.damaged-2026-03-01T000000.000Z'])
    expect(damaged.equals(await readFile(join(directory, aside[0]!)))).toBe(true)
  })

  test.skipIf(!SLOW)('with a damaged write-ahead log: both files are set aside together', async () => {
    const directory = await publishedWarehouse()
    await openElsewhere(directory, 'commit-and-die')
    const log = join(directory, 'work.duckdb.wal')
    const bytes = await readFile(log)
    await writeFile(log, bytes.fill(7, 40, bytes.length - 40))
    await expectRebuilt(await testWarehouse(directory))
    expect((await readdir(directory)).filter((name) => name.includes('damaged')).sort()).toEqual([
      'work.duckdb.damaged-2026-03-01T000000.000Z',
      'work.duckdb.damaged-2026-03-01T000000.000Z.wal',
    ])
  })

  test.skipIf(!SLOW)('deleted without its write-ahead log, which is then ignored', async () => {
    const directory = await publishedWarehouse()
    await openElsewhere(directory, 'commit-and-die')
    await rm(join(directory, 'work.duckdb'))
    const warehouse = await testWarehouse(directory)
    await expectRebuilt(warehouse)
    await warehouse.expectRows('SELECT * FROM freshness WHERE survey_id = 77', [])
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

  test.skipIf(!SLOW)('or begun anew when nothing was published', async () => {
    const directory = await temporaryDirectory()
    await writeFile(join(directory, 'work.duckdb'), 'garbage')
    const warehouse = await testWarehouse(directory)
    expect(await warehouse.account.position()).toEqual({
      cursor: null,
      fullListedAt: null,
      countedAt: null,
      fullListingDue: false,
      hasLeftOut: false,
      listings: { full: null, incremental: null },
    })
  })

  test.runIf(SLOW)(
    'but not when the published file is damaged too, which stays for people to restore',
    async () => {
      const directory = await publishedWarehouse()
      await rm(join(directory, 'work.duckdb'))
      await rm(join(directory, 'fieldwork.duckdb'))
      await writeFile(join(directory, 'fieldwork.duckdb'), 'garbage')
      await expect(open(directory)).rejects.toMatchObject({
        code: 'warehouse_unusable',
        exitCode: 7,
        message: expect.stringContaining('cannot be rebuilt'),
      })
      expect(await readFile(join(directory, 'fieldwork.duckdb'), 'utf8')).toBe('garbage')
      await rm(join(directory, 'fieldwork.duckdb'))
      const warehouse = await testWarehouse(directory)
      await warehouse.expectRows('SELECT * FROM surveys', [])
    },
  )
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
  test.runIf(SLOW && canContain())('a holder in another container is called that', async () => {
    const directory = await temporaryDirectory()
    await openElsewhere(directory, 'hold')
    const { told } = await openElsewhere(directory, 'leave', true)
    expect(told).toMatchObject({
      code: 'warehouse_is_held',
      exitCode: 6,
      message: expect.stringMatching(/ is held by a process in another container or on another machine\W/),
    })
  })

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

  test.runIf(SLOW)(
    'the message names a reader who opened the work database by mistake, not the run that was killed',
    async () => {
      const directory = await publishedWarehouse()
      await openElsewhere(directory, 'commit-and-die')
      const other = await holdOpen(join(directory, 'work.duckdb'))
      await expect(open(directory)).rejects.toMatchObject({
        exitCode: 6,
        message: expect.stringMatching(new RegExp(`held by process ${other.pid} \\(.*node.*\\)\\. Wait`)),
      })
    },
  )

  test.runIf(SLOW)('a holder that has published keeps its lock although it copied the file', async () => {
    const warehouse = await testWarehouse()
    await createDuckdbPublisher(warehouse.database, warehouse.directory, createLacks(warehouse.log)).publish(
      new AbortController().signal,
    )
    expect((await openElsewhere(warehouse.directory, 'leave')).told).toMatchObject({
      opened: false,
      code: 'warehouse_is_held',
    })
  })

  test.skipIf(!SLOW)(
    'the note of a killed holder stops no later run, and is removed with the next close',
    async () => {
      const directory = await temporaryDirectory()
      await openElsewhere(directory, 'commit-and-die')
      expect(await readdir(directory)).toContain('work.holder.json')
      const warehouse = await testWarehouse(directory)
      await warehouse.database.close()
      expect(await readdir(directory)).toEqual(['work.duckdb'])
    },
  )
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
  test.each(['work.duckdb', 'fieldwork.duckdb'])('is refused when %s is a pipe', async (name) => {
    const directory = await temporaryDirectory()
    execFileSync('mkfifo', [join(directory, name)])
    await expect(open(directory)).rejects.toMatchObject({
      exitCode: 7,
      message: expect.stringMatching(/it is not a file/),
    })
  })

  // Seed 24 of the simulation: a disk that became full at this line was reported as a bug.
  test('is refused when the note about its holder cannot be written', async () => {
    const directory = await newDirectory()
    await mkdir(join(directory, 'work.holder.json'))
    await expect(open(directory)).rejects.toMatchObject({ code: 'warehouse_unusable', exitCode: 7 })
    await rm(join(directory, 'work.holder.json'), { recursive: true })
    await (await open(directory)).close()
  })

  // Seed 22 of the simulation: a failure during the close hid the reason why the run had ended.
  test.runIf(SLOW)('is released with a warning when the note cannot be removed', async () => {
    const warehouse = await testWarehouse()
    const note = join(warehouse.directory, 'work.holder.json')
    await rm(note)
    await mkdir(note)
    await warehouse.database.close()
    expect(warehouse.log.lines).toMatchObject([
      { level: 'warn', message: 'the warehouse is closed, but its holder note could not be removed' },
    ])
    await rm(note, { recursive: true })
    await (await open(warehouse.directory)).close()
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
