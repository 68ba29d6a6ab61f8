/** One request budget for several accounts: the limit of each, and who gets the requests that another leaves. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Allocation, decide, expectedAllocations, limitOf } from '../../../src/sync/requests.js'
import { SLOW } from '../../support/suite/slow.js'

type State = Parameters<typeof limitOf>[2]

const stateOf = (state: Partial<State> = {}): State => ({
  weight: 1,
  sent: 0,
  reserved: 0,
  waitsFor: null,
  granted: 0,
  ended: false,
  ...state,
})

describe('the limit of each account', () => {
  test.each<[string, number, readonly Partial<State>[], readonly number[]]>([
    ['one account has the whole budget', 10, [{}], [10]],
    ['equal weights give equal allocations', 30, [{}, {}, {}], [10, 10, 10]],
    ['a weight of two gives twice the allocation', 30, [{ weight: 2 }, {}], [20, 10]],
    ['an indivisible rest stays for accounts that wait', 10, [{}, {}, {}], [3, 3, 3]],
    ['less than a request each gives nothing', 2, [{}, {}, {}], [0, 0, 0]],
    ['sent and reserved do not move it', 30, [{ sent: 10 }, { sent: 3, reserved: 4 }, {}], [10, 10, 10]],
    ['the others get what one has left', 30, [{ ended: true, sent: 4 }, {}, { sent: 10 }], [4, 13, 13]],
    ['they get it by their weights', 40, [{ ended: true }, { weight: 2 }, { weight: 1 }], [0, 26, 13]],
    ['the last gets what two left', 30, [{ ended: true, sent: 4 }, { ended: true, sent: 6 }, {}], [4, 6, 20]],
    ['one exceeded its allocation, so the others get less', 30, [{ sent: 25 }, {}, {}], [10, 5, 5]],
    ['one exceeded the whole, so the others get nothing', 30, [{ sent: 31 }, {}, {}], [10, 0, 0]],
    [
      'a grant raises the limit above the allocation',
      30,
      [{ sent: 10, granted: 14 }, { sent: 9 }, { sent: 7 }],
      [14, 10, 10],
    ],
    ['but not above the whole', 30, [{ sent: 10, granted: 14 }, { sent: 9 }, { sent: 9 }], [12, 10, 10]],
  ])('%s', (_, total, states, limits) => {
    const all = states.map(stateOf)
    expect(all.map((one) => limitOf(total, all, one))).toEqual(limits)
  })
})

describe('the decision about waiting accounts', () => {
  const NOTHING = { go: [], end: [] }

  test.each<[string, number, readonly Partial<State>[], object]>([
    ['no account waits', 10, [{}, {}], NOTHING],
    ['a bundle that fits the allocation goes', 10, [{ waitsFor: 5 }, {}], { ...NOTHING, go: [0] }],
    ['a larger one waits while the other account works', 10, [{ waitsFor: 6 }, {}], NOTHING],
    [
      'a larger one goes when the other has ended and left enough',
      10,
      [{ waitsFor: 6 }, { ended: true, sent: 4 }],
      { ...NOTHING, go: [0] },
    ],
    [
      'a larger one ends when the other has ended and left too little',
      10,
      [{ waitsFor: 7 }, { ended: true, sent: 4 }],
      { ...NOTHING, end: [0] },
    ],
    ['both wait; a reserved one may return', 10, [{ waitsFor: 6 }, { waitsFor: 9, reserved: 1 }], NOTHING],
    ['an account waits for its own reserved requests', 10, [{ sent: 2, reserved: 5, waitsFor: 4 }], NOTHING],
    ['both wait; one above the rest ends', 10, [{ waitsFor: 6 }, { waitsFor: 11 }], { ...NOTHING, end: [1] }],
    [
      'each fits the rest but not its allocation, so the account furthest behind goes',
      10,
      [
        { sent: 3, waitsFor: 3 },
        { sent: 2, waitsFor: 5 },
      ],
      { ...NOTHING, go: [0] },
    ],
    [
      'weights decide which account is furthest behind',
      12,
      [
        { sent: 3, waitsFor: 4 },
        { weight: 2, sent: 4, waitsFor: 5 },
      ],
      { ...NOTHING, go: [1] },
    ],
  ])('%s', (_, total, states, decision) => {
    const all = states.map(stateOf)
    const { go, end } = decide(total, all)
    const placesOf = (chosen: readonly State[]) => chosen.map((one) => all.indexOf(one))
    expect({ go: placesOf(go), end: placesOf(end) }).toEqual(decision)
  })
})

const divide = (total: number, weights: readonly number[]): readonly Allocation[] => {
  const all: Allocation[] = []
  return weights.map((weight) => new Allocation(total, weight, all))
}

const never = new AbortController().signal

const reserve = (allocation: Allocation | undefined, requests: number): void => {
  expect(allocation?.fits(requests)).toBe(true)
  allocation?.reserve(requests)
}

describe('the request budget', () => {
  test('a waiting account continues when another one returns requests', async () => {
    const [one, other] = divide(10, [1, 1])
    reserve(other, 5)
    reserve(one, 5)
    const room = one?.room(3, never)
    other?.reserve(-5)
    other?.[Symbol.dispose]()
    expect(await room).toBe(true)
    expect([one?.fits(5), one?.fits(6), one?.mayGrow()]).toEqual([true, false, false])
  })

  test('a signal ends the wait, and no account waits for one that has ended', async () => {
    const stop = new AbortController()
    const [one, other] = divide(10, [1, 1])
    const first = one?.room(6, stop.signal)
    stop.abort()
    expect(await first).toBe(false)
    const second = other?.room(7, never)
    one?.[Symbol.dispose]()
    expect(await second).toBe(true)
    expect(await one?.room(1, stop.signal)).toBe(false)
  })
})

/** An account's bundles: the requests that each is expected to take, and those that it takes, never more. */
const account = fc.record({
  weight: fc.integer({ min: 1, max: 5 }),
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
  own: Allocation,
  { bundles, atOnce }: { bundles: readonly { expected: number; takes: number }[]; atOnce: number },
  otherWork: () => Promise<void>,
): Promise<Done> => {
  const done: Done = { sent: 0, refused: null }
  const underWay = new Set<Promise<void>>()
  const one = async ({ expected, takes }: { expected: number; takes: number }) => {
    for (let taken = 0; taken < takes; taken += 1) {
      await otherWork()
      own.send(true)
      done.sent += 1
    }
    own.reserve(takes - expected)
  }
  for (const bundle of bundles) {
    while (!own.fits(bundle.expected) && done.refused === null)
      if (!(await own.room(bundle.expected, never))) done.refused = bundle.expected
    if (done.refused !== null) break
    own.reserve(bundle.expected)
    const working = one(bundle).finally(() => underWay.delete(working))
    underWay.add(working)
    if (underWay.size >= atOnce) await Promise.race(underWay)
  }
  await Promise.all(underWay)
  own[Symbol.dispose]()
  return done
}

test('accounts never exceed the budget; none is refused below its allocation, or while the rest holds its bundle', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 120 }),
      fc.array(account, { minLength: 1, maxLength: 5 }),
      fc.infiniteStream(fc.nat({ max: 3 })),
      async (total, accounts, waits) => {
        const budget = divide(
          total,
          accounts.map(({ weight }) => weight),
        )
        const otherWork = async () => {
          for (let wait = waits.next().value ?? 0; wait > 0; wait -= 1) await Promise.resolve()
        }
        const done = await Promise.all(
          accounts.map((one, place) => work(budget[place] as Allocation, one, otherWork)),
        )
        const sent = done.reduce((sum, one) => sum + one.sent, 0)
        const weights = accounts.reduce((sum, { weight }) => sum + weight, 0)
        expect(sent).toBeLessThanOrEqual(total)
        for (const [place, one] of done.entries()) {
          if (one.refused === null) continue
          const own = Math.floor((total * (accounts[place]?.weight ?? 0)) / weights)
          expect(one.sent + one.refused).toBeGreaterThan(own)
          expect(sent + one.refused).toBeGreaterThan(total)
        }
      },
    ),
    { numRuns: SLOW ? 5_000 : 300 },
  )
})

test.each([
  ['each needs more than its allocation', 30, [1, 2], [99, 99], [10, 20]],
  ['one leaves requests to the others', 30, [1, 1, 1], [4, 99, 99], [4, 13, 13]],
  ['all need less', 30, [1, 5], [4, 9], [4, 9]],
  ['the need of one is unknown', 10, [1, 1], [Number.POSITIVE_INFINITY, 2], [8, 2]],
  ['the budget is zero', 0, [1], [4], [0]],
])('expected allocations when %s', (_, total, weights, needs, expected) => {
  const accounts = weights.map((weight, place) => ({ weight, needed: needs[place] ?? 0 }))
  expect(expectedAllocations(total, accounts)).toEqual(expected)
})

test('what all accounts leave goes to whoever asks first, once each has read its queue', async () => {
  const all: Allocation[] = []
  const [one, other] = [new Allocation(10, 1, all), new Allocation(10, 1, all)]
  one.take()
  let hasEnded = false
  const ending = one.allEnd().then(() => {
    hasEnded = true
  })
  // The other may use its part, and all that this one leaves.
  for (let sent = 0; sent < 7; sent += 1) other.take()
  expect(hasEnded).toBe(false)
  other[Symbol.dispose]()
  await ending
  expect(one.left()).toBe(2)
  one.reserve(2)
  expect([one.left(), other.left()]).toEqual([0, 0])
  await new Allocation(null, 1, [new Allocation(null)]).allEnd()
})
