/** Opening a warehouse, whatever the last run left behind. Nothing needs repair by hand. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createDuckdbPublisher } from '../../../../src/publish/duckdb.js'
import { createLacks } from '../../../../src/publish/file-system-lacks.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { canContain, holdOpen, openElsewhere } from '../../../support/process/other-process.js'
import { lacks } from '../../../support/suite/lacks.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'
import { expectRebuilt, open, publishedWarehouse } from './open-shared.js'

describe('a work database that was lost or damaged is rebuilt from the published file', () => {
  test('with a damaged write-ahead log: both files are set aside together', async () => {
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

  test('deleted without its write-ahead log, which is then ignored', async () => {
    const directory = await publishedWarehouse()
    await openElsewhere(directory, 'commit-and-die')
    await rm(join(directory, 'work.duckdb'))
    const warehouse = await testWarehouse(directory)
    await expectRebuilt(warehouse)
    await warehouse.expectRows('SELECT * FROM freshness WHERE survey_id = 77', [])
  })

  test('or begun anew when nothing was published', async () => {
    const directory = await temporaryDirectory()
    await writeFile(join(directory, 'work.duckdb'), 'garbage')
    const warehouse = await testWarehouse(directory)
    expect(await warehouse.account.position()).toEqual({
      cursor: null,
      fullListedAt: null,
      countedAt: null,
      fullListingDue: false,
      hasLeftOut: false,
      cursorDatedAt: null,
      listings: { full: null, incremental: null },
    })
  })

  test('but not when the published file is damaged too, which stays for people to restore', async () => {
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
  })
})

describe('one process at a time', () => {
  test.skipIf(lacks('process ids of its own', canContain()))(
    'a holder in another container is called that',
    async () => {
      const directory = await temporaryDirectory()
      await openElsewhere(directory, 'hold')
      const { told } = await openElsewhere(directory, 'leave', true)
      expect(told).toMatchObject({
        code: 'warehouse_is_held',
        exitCode: 6,
        message: expect.stringMatching(/ is held by a process in another container or on another machine\W/),
      })
    },
  )

  test('the message names a reader who opened the work database by mistake, not the run that was killed', async () => {
    const directory = await publishedWarehouse()
    await openElsewhere(directory, 'commit-and-die')
    const other = await holdOpen(join(directory, 'work.duckdb'))
    await expect(open(directory)).rejects.toMatchObject({
      exitCode: 6,
      message: expect.stringMatching(new RegExp(`held by process ${other.pid} \\(.*node.*\\)\\. Wait`)),
    })
  })

  test('a holder that has published keeps its lock although it copied the file', async () => {
    const warehouse = await testWarehouse()
    await createDuckdbPublisher(warehouse.database, warehouse.directory, createLacks(warehouse.log)).publish(
      new AbortController().signal,
    )
    expect((await openElsewhere(warehouse.directory, 'leave')).told).toMatchObject({
      opened: false,
      code: 'warehouse_is_held',
    })
  })

  test('the note of a killed holder stops no later run, and is removed with the next close', async () => {
    const directory = await temporaryDirectory()
    await openElsewhere(directory, 'commit-and-die')
    expect(await readdir(directory)).toContain('work.holder.json')
    const warehouse = await testWarehouse(directory)
    await warehouse.database.close()
    expect(await readdir(directory)).toEqual(['work.duckdb'])
  })
})

describe('the directory of a warehouse', () => {
  // Seed 22 of the simulation: a failure during the close hid the reason why the run had ended.
  test('is released with a warning when the note cannot be removed', async () => {
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
})
