/** One request budget for all accounts: whoever asks first has the requests. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RequestCounter } from '../../../src/sync/requests.js'
import { cases } from '../../support/suite/cases.js'

const never = new AbortController().signal

describe('the request budget', () => {
  test('counts what is sent and reserved, and refuses what is above it', () => {
    const counter = new RequestCounter(10)
    counter.take()
    counter.reserve(5)
    expect([counter.sent, counter.left, counter.fits(4), counter.fits(5)]).toEqual([1, 4, true, false])
    expect([counter.fits(0, 0.5), counter.fits(1, 0.8)]).toEqual([false, true])
    counter.sendReserved()
    counter.release(4)
    expect([counter.sent, counter.left]).toEqual([2, 8])
    for (let sent = 0; sent < 8; sent += 1) counter.take()
    expect(() => counter.take()).toThrow('stopped by --max-requests 10')
    counter.send()
    expect(counter.left).toBe(-1)
  })

  test('without a limit everything fits', () => {
    const counter = new RequestCounter(null)
    counter.reserve(1_000_000)
    expect(counter.fits(1_000_000, 0.5)).toBe(true)
  })

  test('who waits continues when requests come back', async () => {
    const counter = new RequestCounter(10)
    counter.reserve(8)
    const waiting = counter.mayFit(3, never)
    counter.release(5)
    expect(await waiting).toBe(true)
    expect(counter.fits(3)).toBe(true)
  })

  test('nobody waits for requests that cannot come back, or after a signal', async () => {
    const counter = new RequestCounter(10)
    counter.reserve(8)
    counter.sendReserved()
    expect(await counter.mayFit(10, never)).toBe(false)
    const stop = new AbortController()
    const waiting = counter.mayFit(9, stop.signal)
    stop.abort()
    expect(await waiting).toBe(false)
    expect(await counter.mayFit(9, stop.signal)).toBe(false)
  })
})

/** An account's bundles: the requests that each is expected to take, and those that it takes, never more. */
const account = fc.record({
  bundles: fc.array(
    fc
      .integer({ min: 1, max: 12 })
      .chain((expected) =>
        fc.record({ expected: fc.constant(expected), takes: fc.integer({ min: 1, max: expected }) }),
      ),
    { maxLength: 12 },
  ),
  atOnce: fc.integer({ min: 1, max: 3 }),
})

interface Done {
  sent: number
  /** The size of the refused bundle; null when all were admitted. */
  refused: number | null
}

/** Works as a run does: takes bundles while there is room, some at once, and waits when there is none. */
const work = async (
  counter: RequestCounter,
  { bundles, atOnce }: { bundles: readonly { expected: number; takes: number }[]; atOnce: number },
  otherWork: () => Promise<void>,
): Promise<Done> => {
  const done: Done = { sent: 0, refused: null }
  const underWay = new Set<Promise<void>>()
  const one = async ({ expected, takes }: { expected: number; takes: number }) => {
    for (let taken = 0; taken < takes; taken += 1) {
      await otherWork()
      counter.sendReserved()
      done.sent += 1
    }
    counter.release(expected - takes)
  }
  for (const bundle of bundles) {
    while (!counter.fits(bundle.expected) && done.refused === null)
      if (!(await counter.mayFit(bundle.expected, never))) done.refused = bundle.expected
    if (done.refused !== null) break
    counter.reserve(bundle.expected)
    const working = one(bundle).finally(() => underWay.delete(working))
    underWay.add(working)
    if (underWay.size >= atOnce) await Promise.race(underWay)
  }
  await Promise.all(underWay)
  return done
}

test('accounts never exceed the budget, and none is refused what the rest holds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 120 }),
      fc.array(account, { minLength: 1, maxLength: 5 }),
      fc.infiniteStream(fc.nat({ max: 3 })),
      async (total, accounts, waits) => {
        const counter = new RequestCounter(total)
        const otherWork = async () => {
          for (let wait = waits.next().value ?? 0; wait > 0; wait -= 1) await Promise.resolve()
        }
        const done = await Promise.all(accounts.map((one) => work(counter, one, otherWork)))
        const sent = done.reduce((sum, one) => sum + one.sent, 0)
        expect([counter.sent, counter.left]).toEqual([sent, total - sent])
        expect(sent).toBeLessThanOrEqual(total)
        for (const { refused } of done) if (refused !== null) expect(sent + refused).toBeGreaterThan(total)
      },
    ),
    cases(300, 5_000),
  )
})
