/** Statements that a signal interrupts, on a real connection. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { StoppedError } from '../../../../src/base/errors.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

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
