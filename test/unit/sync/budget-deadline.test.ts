/** Work that is held up past --max-duration gets the time that a bundle takes at the cap, and no more. */
import { expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import { RunBudget } from '../../../src/sync/budget.js'
import { testClock } from '../../support/time/test-clock.js'

const settled = () => new Promise((resolve) => setImmediate(resolve))

const watched = (durationMsMax: number | null, bundles: readonly number[]) => {
  const clock = testClock()
  const limits = { requests_max: null, duration_max: durationMsMax }
  const budget = new RunBudget(limits, clock)
  const deadline = budget.deadline(new AbortController().signal, () => ({ requests: 60, perMs: 60_000 }))
  for (const requests of bundles) budget.admitBundle(requests)
  const pass = async (ms: number): Promise<boolean> => {
    clock.advance(ms)
    await settled()
    return deadline.signal.aborted
  }
  return { pass, deadline }
}

test('a bundle that is held up is given up after a window and the time of the largest bundle at the cap', async () => {
  const { pass, deadline } = watched(100_000, [30, 2])
  expect(await pass(99_999)).toBe(false)
  expect(await pass(1)).toBe(false)
  // 60 s for the window, and 30 requests at 60 a minute.
  expect(await pass(89_999)).toBe(false)
  expect(await pass(1)).toBe(true)
  expect(deadline.signal.reason).toBeInstanceOf(StoppedError)
  expect(deadline.signal.reason).toMatchObject({ message: 'stopped by --max-duration 100s' })
})

test('a listing that is held up before any bundle is given up after a window and one request', async () => {
  const { pass } = watched(100_000, [])
  expect(await pass(100_000)).toBe(false)
  expect(await pass(60_999)).toBe(false)
  expect(await pass(1)).toBe(true)
})

test('nothing is given up when the work ends in time', async () => {
  const { pass, deadline } = watched(100_000, [])
  deadline[Symbol.dispose]()
  expect(await pass(1_000_000)).toBe(false)
})

test('nothing is given up without a limit', async () => {
  const { pass } = watched(null, [30])
  expect(await pass(1_000_000_000)).toBe(false)
})
