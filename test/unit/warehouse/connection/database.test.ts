/** A database is closed after its last statement, so its process can end. Long results are read in parts. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { StoppedError } from '../../../../src/base/errors.js'
import { bigintCell } from '../../../../src/warehouse/connection/cells.js'
import { openDatabase } from '../../../../src/warehouse/connection/database.js'
import { temporaryDirectory as newDirectory } from '../../../support/files/temporary.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

test('each row of a result without end is passed on, until `use` throws; the database stays usable', async () => {
  await using database = await openDatabase(':memory:')
  const row = z.object({ number: bigintCell })
  const numbers: number[] = []
  const reading = database.exclusively((sql) =>
    sql.each(row, 'SELECT range AS number FROM range($1::BIGINT)', [1_000_000_000_000], ({ number }) => {
      if (number === 5_000) throw new Error('enough')
      numbers.push(number)
    }),
  )
  await expect(reading).rejects.toThrow('enough')
  expect(numbers).toEqual(Array.from({ length: 5_000 }, (_, index) => index))
  expect(await database.transaction((sql) => sql.rows(row, 'SELECT 7::BIGINT AS number'))).toEqual([
    { number: 7 },
  ])
})

test('a row of a batch is converted only when it is taken; its cells are in the order of the columns', async () => {
  await using database = await openDatabase(':memory:')
  let converted = 0
  const row = z.array(bigintCell).refine(() => {
    converted += 1
    return true
  })
  const taken = await database.exclusively(async (sql) => {
    for await (const batch of sql.batches(row, 'SELECT 7 + range AS b, range AS a FROM range(1000000000000)'))
      for (const cells of batch) return cells
    return null
  })
  expect({ taken, converted }).toEqual({ taken: [7, 0], converted: 1 })
})

test('the rows of all batches are the rows of the result', async () => {
  await using database = await openDatabase(':memory:')
  const numbers = await database.exclusively(async (sql) => {
    const found: unknown[] = []
    for await (const batch of sql.batches(z.tuple([bigintCell]), 'SELECT range FROM range(5000)'))
      for (const [number] of batch) found.push(number)
    return found
  })
  expect(numbers).toEqual(Array.from({ length: 5_000 }, (_, index) => index))
})

test.each([
  [{}, 1],
  [{ threads: 2 }, 2],
] as const)('a connection with the options %o has %i threads', async (options, threads) => {
  await using database = await openDatabase(':memory:', options)
  const row = z.object({ threads: bigintCell })
  const SETTING = `SELECT current_setting('threads') AS threads`
  expect(await database.exclusively((sql) => sql.rows(row, SETTING))).toEqual([{ threads }])
})

/** Statements that a signal interrupts, on a real connection. */

const ENDLESS = 'SELECT count(*) AS n FROM range(1_000_000_000_000) t(i) WHERE hash(i) = 7'
const anything = z.object({ n: z.unknown() })

test('a signal interrupts a statement, even before DuckDB has begun with it, with the reason of the signal', async () => {
  const { database, expectRows } = await testWarehouse()
  const controller = new AbortController()
  const stopped = new StoppedError('stopped')
  const endless = database.exclusively((sql) =>
    database.interruptibly(controller.signal, () => {
      const result = sql.rows(anything, ENDLESS)
      controller.abort(stopped)
      return result
    }),
  )
  await expect(endless).rejects.toBe(stopped)
  await expectRows('SELECT 1 AS n', [[1]])
})

test('a signal prevents later work, and does not interrupt statements after the work has ended', async () => {
  const { database, rows } = await testWarehouse()
  const controller = new AbortController()
  let begun = 0
  const work = () => {
    begun += 1
    return rows('SELECT 1 AS n')
  }
  expect(await database.interruptibly(controller.signal, work)).toEqual([{ n: 1 }])
  const later = rows('SELECT count(*) AS n FROM range(20_000_000) t(i) WHERE hash(i) % 2 < 2')
  const stopped = new StoppedError('stopped')
  controller.abort(stopped)
  expect(await later).toEqual([{ n: 20_000_000 }])
  await expect(database.interruptibly(controller.signal, work)).rejects.toBe(stopped)
  expect(begun).toBe(1)
})

test('a result that fails after its first rows is not taken for a complete one', async () => {
  await using database = await openDatabase(':memory:')
  const failing = `SELECT CASE WHEN range = 500000 THEN error('late') ELSE range END AS number FROM range(600000)`
  const each = database.transaction((sql) =>
    sql.each(z.object({ number: bigintCell }), failing, [], () => undefined),
  )
  await expect(each).rejects.toThrow('ended before its last row')
  const batches = database.transaction(async (sql) => {
    for await (const batch of sql.batches(z.array(bigintCell), failing)) for (const _ of batch);
  })
  await expect(batches).rejects.toThrow('ended before its last row')
})

test('a sort ends where it would spill more than the limit', async () => {
  const temporaryDirectory = join(await newDirectory(), 'spill')
  const limited = { memoryLimit: '16MB', temporaryDirectory, spillLimit: '4MB' }
  await using database = await openDatabase(':memory:', limited)
  const sorting = database.exclusively((sql) =>
    sql.run(
      'CREATE TEMP TABLE sorted AS SELECT md5(range::VARCHAR) AS text FROM range(1000000) ORDER BY text',
    ),
  )
  await expect(sorting).rejects.toThrow('Out of Memory')
})
