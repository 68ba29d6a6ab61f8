/** The budget of a run: what it admits, request by request. */
import { describe, expect, test } from 'vitest'
import type { Allowance } from '../../../src/base/allowance.js'
import { StoppedError } from '../../../src/base/errors.js'
import { type BundleAllowance, type ListingAllowance, RunBudget } from '../../../src/sync/budget.js'
import { RequestCounter } from '../../../src/sync/requests.js'
import { testClock } from '../../support/time/test-clock.js'

const requests = (requestsMax: number | null) => {
  const counter = new RequestCounter(requestsMax)
  const budget = new RunBudget({ requests_max: requestsMax, duration_max: null }, testClock(), counter)
  return Object.assign(budget, { spent: () => counter.sent })
}

const take = (allowance: Allowance, times: number): void => {
  for (let taken = 0; taken < times; taken += 1) allowance.take()
}

const mayReadPage = (listing: ListingAllowance, tasksWait: boolean): Promise<boolean> =>
  listing.mayReadPage(() => Promise.resolve(tasksWait))

const admitted = (budget: RunBudget, expected: number): BundleAllowance => {
  const allowance = budget.admitBundle(expected)
  if (allowance === null) throw new Error(`a bundle of ${expected} requests was not admitted`)
  return allowance
}

test('without limits everything is admitted', async () => {
  const budget = requests(null)
  const listing = budget.listing(1)
  for (let page = 0; page < 1000; page += 1) {
    expect(await mayReadPage(listing, true)).toBe(true)
    listing.take()
  }
  expect(budget.admitBundle(1_000_000)).not.toBeNull()
  expect(budget.spent()).toBe(1000)
})

describe('a listing', () => {
  test.each([
    [false, 10],
    [true, 5],
  ])('with a budget of ten and tasks waiting (%s) reads %d pages', async (tasksWait, pages) => {
    const budget = requests(10)
    const listing = budget.listing(1)
    let read = 0
    while (await mayReadPage(listing, tasksWait)) {
      listing.take()
      read += 1
    }
    expect(read).toBe(pages)
    expect(budget.reason()).toBe('stopped by --max-requests 10')
  })

  test('reads the pages that it needs to make progress, whatever the budget', async () => {
    const budget = requests(1)
    const listing = budget.listing(2)
    for (let page = 1; page <= 2; page += 1) {
      expect(await mayReadPage(listing, true)).toBe(true)
      take(listing, 3)
    }
    expect(await mayReadPage(listing, false)).toBe(false)
    expect(() => listing.take()).toThrow(StoppedError)
    expect(budget.spent()).toBe(6)
  })

  test('counts the retries of a page, so that the budget holds to the last request', async () => {
    const budget = requests(4)
    const listing = budget.listing(1)
    expect(await mayReadPage(listing, false)).toBe(true)
    take(listing, 3)
    expect(await mayReadPage(listing, false)).toBe(true)
    listing.take()
    expect(() => listing.take()).toThrow('stopped by --max-requests 4')
  })

  test('may use half of the time while tasks wait, and all of it otherwise', async () => {
    const clock = testClock()
    const budget = new RunBudget({ requests_max: null, duration_max: 60_000 }, clock)
    const listing = budget.listing(1)
    expect(await mayReadPage(listing, true)).toBe(true)
    clock.advance(30_000)
    expect(await mayReadPage(listing, true)).toBe(true)
    clock.advance(1)
    expect(await mayReadPage(listing, true)).toBe(false)
    expect(await mayReadPage(listing, false)).toBe(true)
    clock.advance(30_000)
    expect(await mayReadPage(listing, false)).toBe(false)
    expect(budget.reason()).toBe('stopped by --max-duration 60s')
  })
})

describe('a bundle', () => {
  test('is admitted while its expected requests fit into the rest that others have not reserved', () => {
    const budget = requests(10)
    const first = admitted(budget, 6)
    expect(budget.admitBundle(5)).toBeNull()
    const second = admitted(budget, 4)
    expect(budget.admitBundle(1)).toBeNull()
    take(first, 6)
    take(second, 4)
    expect(budget.spent()).toBe(10)
    expect(() => second.take()).toThrow(StoppedError)
  })

  test('returns the requests that it did not need', () => {
    const budget = requests(10)
    const first = admitted(budget, 10)
    take(first, 2)
    expect(budget.admitBundle(1)).toBeNull()
    first.release()
    expect(budget.admitBundle(8)).not.toBeNull()
  })

  test('reserves the rest once its size is known, unless it does not fit', () => {
    const budget = requests(10)
    const first = admitted(budget, 3)
    take(first, 2)
    expect(first.reserveRest(9, 2)).toBe(false)
    expect(first.reserveRest(8, 2)).toBe(true)
    expect(budget.admitBundle(1)).toBeNull()
    take(first, 8)
    expect(budget.spent()).toBe(10)
  })

  test('that needs fewer requests than expected frees the difference at once', () => {
    const budget = requests(10)
    const first = admitted(budget, 10)
    take(first, 2)
    expect(first.reserveRest(0, 2)).toBe(true)
    expect(budget.admitBundle(8)).not.toBeNull()
  })

  test('is not admitted when it does not fit, also as the first', () => {
    const budget = requests(10)
    expect(budget.admitBundle(11)).toBeNull()
    expect(admitted(budget, 2).reserveRest(11, 0)).toBe(false)
  })

  test('may take as a whole what the listing has left, and never more than a thousand requests', () => {
    const budget = requests(10)
    take(budget.listing(1), 4)
    expect(budget.wholeMax).toBe(6)
    expect(requests(null).wholeMax).toBe(1_000)
    expect(admitted(requests(null), 2).reserveRest(1_001, 0)).toBe(false)
  })

  test('is no larger by its retries', () => {
    const retried = admitted(requests(null), 3)
    take(retried, 4)
    expect(retried.reserveRest(999, 1)).toBe(true)
    expect(retried.reserveRest(1_000, 1)).toBe(false)
  })

  test('is admitted by the pace of earlier bundles when the time is limited', () => {
    const clock = testClock()
    const budget = new RunBudget({ requests_max: null, duration_max: 60_000 }, clock)
    clock.advance(10_000)
    const first = admitted(budget, 10)
    take(first, 10)
    clock.advance(10_000)
    // Ten requests took ten seconds; forty seconds are left.
    expect(budget.admitBundle(41)).toBeNull()
    expect(budget.reason()).toBe('stopped by --max-duration 60s')
    expect(budget.admitBundle(40)).not.toBeNull()
    clock.advance(40_001)
    expect(budget.admitBundle(0)).toBeNull()
  })
})

describe('a survey in parts', () => {
  const parts = (budget: RunBudget): BundleAllowance => {
    const allowance = budget.admitParts()
    if (allowance === null) throw new Error('nothing is left')
    return allowance
  }

  test('takes all that is left, and no more', () => {
    const budget = requests(10)
    const whole = admitted(budget, 3)
    take(whole, 3)
    whole.release()
    const allowance = parts(budget)
    expect(allowance.reserveRest(20_000, 1)).toBe(true)
    take(allowance, 7)
    expect(() => allowance.take()).toThrow('stopped by --max-requests 10')
    expect(budget.admitParts()).toBeNull()
  })

  test('takes one request when the listing has left none, so that every run makes progress', async () => {
    const budget = requests(1)
    const listing = budget.listing(1)
    expect(await mayReadPage(listing, true)).toBe(true)
    take(listing, 1)
    const allowance = parts(budget)
    allowance.take()
    expect(() => allowance.take()).toThrow(StoppedError)
  })

  test('ends with --max-duration', () => {
    const clock = testClock()
    const budget = new RunBudget({ requests_max: null, duration_max: 60_000 }, clock)
    const allowance = parts(budget)
    take(allowance, 100)
    clock.advance(60_001)
    expect(() => allowance.take()).toThrow('stopped by --max-duration 60s')
  })
})

/** Work that is held up past --max-duration gets the time that a bundle takes at the cap, and no more. */

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
