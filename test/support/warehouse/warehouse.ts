/** A real warehouse in a directory of the test. */
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import { formatInstant } from '../../../src/model/instant.js'
import { ALL_TABLES, tableName } from '../../../src/model/sync-tables.js'
import type { AccountWarehouse, StoredBundle } from '../../../src/model/warehouse.js'
import { publishedPlaces } from '../../../src/publish/formats.js'
import { accountWarehouse } from '../../../src/warehouse/account-warehouse.js'
import type { Database } from '../../../src/warehouse/connection/database.js'
import { workFile } from '../../../src/warehouse/lifecycle/files.js'
import { openWarehouse } from '../../../src/warehouse/lifecycle/open.js'
import { atEndOfFile, type Finished, temporaryDirectory } from '../files/temporary.js'
import { testLog } from '../log/test-log.js'
import { testClock } from '../time/test-clock.js'

export interface TestWarehouse {
  readonly directory: string
  readonly database: Database
  readonly log: ReturnType<typeof testLog>
  readonly account: AccountWarehouse
  /** Rows of a query on the work database: instants as ISO 8601 in UTC, integers as numbers. */
  rows(sql: string): Promise<readonly Row[]>
  /** The cells of each row, in the order of the SELECT. */
  cells(sql: string): Promise<readonly Cells[]>
  /** `expected` are rows, or their cells. */
  expectRows(sql: string, expected: readonly Row[] | readonly Cells[]): Promise<void>
  run(sql: string): Promise<void>
}

export type Row = Readonly<Record<string, unknown>>
type Cells = readonly unknown[]

/** Opens a warehouse, and closes it at the end of the test or when `finished` runs its work. */
export const testWarehouse = async (
  directory?: string,
  finished: Finished = onTestFinished,
): Promise<TestWarehouse> => {
  const inDirectory = directory ?? (await newDirectory(finished))
  const log = testLog()
  const database = await openWarehouse({
    directory: inDirectory,
    clock: testClock(),
    log,
    command: 'a test',
    published: publishedPlaces(inDirectory),
  })
  finished(async () => {
    // A checkpoint would take longer than most tests, and the directory is removed next. The test may have closed the database.
    await database
      .exclusively((sql) => sql.run('PRAGMA disable_checkpoint_on_shutdown'))
      .catch(() => undefined)
    await database.close()
  })
  const cells = async (sql: string) => (await rowsOf(database, sql)).map((row) => Object.values(row))
  return {
    directory: inDirectory,
    database,
    log,
    account: accountWarehouse(database, 'acme'),
    rows: (sql) => rowsOf(database, sql),
    cells,
    expectRows: async (sql, expected) =>
      expect(await (Array.isArray(expected[0]) ? cells(sql) : rowsOf(database, sql))).toEqual(expected),
    run: (sql) => database.exclusively((on) => on.run(sql)),
  }
}

/**
 * A warehouse for tests that only write and read rows. It is opened once per test file and emptied for each call, because opening takes
 * ten times as long. A test that closes it, or changes a table, opens its own.
 */
export const sharedWarehouse = (): (() => Promise<TestWarehouse>) => {
  const opened = oncePerFile(() => testWarehouse(undefined, atEndOfFile))
  return async () => {
    const warehouse = await opened()
    await warehouse.run(EMPTYING)
    return { ...warehouse, log: testLog(), account: accountWarehouse(warehouse.database, 'acme') }
  }
}

const FILLED = ALL_TABLES.filter(({ name }) => name !== 'schema_version')
const EMPTYING = ['BEGIN', ...FILLED.map((table) => `DELETE FROM ${tableName(table)}`), 'COMMIT'].join('; ')

/** Fills a warehouse once per test file, and closes it. Every test gets a directory with a copy of its files. */
export const copiesOf = (fill: (warehouse: TestWarehouse) => Promise<unknown>): (() => Promise<string>) => {
  const filled = oncePerFile(async () => {
    const warehouse = await testWarehouse(undefined, atEndOfFile)
    await fill(warehouse)
    await warehouse.database.close()
    return warehouse.directory
  })
  return async () => {
    const directory = join(await temporaryDirectory(), 'warehouse')
    await cp(await filled(), directory, { recursive: true, verbatimSymlinks: true })
    return directory
  }
}

const oncePerFile = <Made>(make: () => Promise<Made>): (() => Promise<Made>) => {
  let made: Promise<Made> | null = null
  return () => {
    if (made === null)
      atEndOfFile(() => {
        made = null
      })
    made ??= make()
    return made
  }
}

export const newDirectory = async (finished: Finished = onTestFinished): Promise<string> => {
  const directory = await temporaryDirectory(finished)
  await writeFile(workFile(directory), await emptyWarehouse())
  return directory
}

/** The file of an empty warehouse. It is built once and copied, because creating its tables and views takes time. */
export const emptyWarehouse = (): Promise<Buffer> => {
  emptyFile ??= buildEmptyFile()
  return emptyFile
}
let emptyFile: Promise<Buffer> | null = null

const buildEmptyFile = async (): Promise<Buffer> => {
  const finished: (() => Promise<void> | void)[] = []
  const directory = await temporaryDirectory((work) => void finished.push(work))
  const database = await openWarehouse({ directory, clock: testClock(), log: testLog(), command: 'a test' })
  await database.close()
  const file = await readFile(workFile(directory))
  for (const work of finished) await work()
  return file
}

const rowsOf = (database: Database, sql: string): Promise<readonly Row[]> =>
  database.exclusively((on) => on.rows(z.record(z.string(), z.unknown().transform(plain)), sql))

const plain = (cell: unknown): unknown => (typeof cell === 'bigint' ? formatInstant(cell) : cell)

export const storedBundle = async (
  account: Pick<AccountWarehouse, 'storedBundles'>,
  surveyId: number,
): Promise<StoredBundle> => {
  const stored = (await account.storedBundles([surveyId])).get(surveyId)
  if (stored === undefined) throw new Error(`survey ${surveyId} was not read`)
  return stored
}
