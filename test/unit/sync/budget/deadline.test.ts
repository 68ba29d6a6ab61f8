/** Work that is held up past --max-duration gets the time that a bundle takes at the cap, and no more. */
import { expect, test } from 'vitest'
import { StoppedError } from '../../../../src/base/errors.js'
import { createBudget } from '../../../../src/sync/budget/budget.js'
import { setDeadline } from '../../../../src/sync/budget/deadline.js'
import { memorySource } from '../../../support/api/memory-source.js'
import { testClock } from '../../../support/time/test-clock.js'
import { runDependencies } from '../../../support/warehouse/run-dependencies.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

const settled = () => new Promise((resolve) => setImmediate(resolve))

const watched = async (durationMsMax: number | null, bundles: readonly number[]) => {
  const clock = testClock()
  const limits = { requestsMax: null, durationMsMax }
  const dependencies = {
    ...runDependencies(await testWarehouse(), memorySource(), { budget: limits }),
    clock,
  }
  const budget = createBudget(limits, clock)
  const deadline = setDeadline(dependencies, budget)
  for (const requests of bundles) budget.admitBundle(requests)
  const pass = async (ms: number): Promise<boolean> => {
    clock.advance(ms)
    await settled()
    return deadline.signal.aborted
  }
  return { pass, deadline }
}

test('a bundle that is held up is given up after a window and the time of the largest bundle at the cap', async () => {
  const { pass, deadline } = await watched(100_000, [30, 2])
  expect(await pass(99_999)).toBe(false)
  expect(await pass(1)).toBe(false)
  // 60 s for the window, and 30 requests at 60 a minute.
  expect(await pass(89_999)).toBe(false)
  expect(await pass(1)).toBe(true)
  expect(deadline.signal.reason).toBeInstanceOf(StoppedError)
  expect(deadline.signal.reason).toMatchObject({ message: 'stopped by --max-duration 100s' })
})

test('a listing that is held up before any bundle is given up after a window and one request', async () => {
  const { pass } = await watched(100_000, [])
  expect(await pass(100_000)).toBe(false)
  expect(await pass(60_999)).toBe(false)
  expect(await pass(1)).toBe(true)
})

test('nothing is given up when the work ends in time', async () => {
  const { pass, deadline } = await watched(100_000, [])
  deadline[Symbol.dispose]()
  expect(await pass(1_000_000)).toBe(false)
})

test('nothing is given up without a limit', async () => {
  const { pass } = await watched(null, [30])
  expect(await pass(1_000_000_000)).toBe(false)
})
