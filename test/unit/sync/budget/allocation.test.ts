/** One budget for several accounts: who may go how far, and who gets what another leaves. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type AllocationState,
  decide,
  expectedAllocations,
  limitOf,
} from '../../../../src/sync/budget/allocation.js'
import { type Allocation, createRequestBudget } from '../../../../src/sync/budget/request-budget.js'
import { SLOW } from '../../../support/suite/slow.js'

const stateOf = (state: Partial<AllocationState> = {}): AllocationState => ({
  weight: 1,
  sent: 0,
  reserved: 0,
  waitsFor: null,
  granted: 0,
  ended: false,
  ...state,
})

describe('the limit of each', () => {
  test.each<[string, number, readonly Partial<AllocationState>[], readonly number[]]>([
    ['one has all of it', 10, [{}], [10]],
    ['equal weights, equal allocations', 30, [{}, {}, {}], [10, 10, 10]],
    ['a weight of two is twice a weight of one', 30, [{ weight: 2 }, {}], [20, 10]],
    ['a rest that cannot be divided is for whoever waits for it', 10, [{}, {}, {}], [3, 3, 3]],
    ['less than a request each', 2, [{}, {}, {}], [0, 0, 0]],
    ['what is used stays used', 30, [{ sent: 10 }, { sent: 3, reserved: 4 }, {}], [10, 10, 10]],
    ['what one left is for the others', 30, [{ ended: true, sent: 4 }, {}, { sent: 10 }], [4, 13, 13]],
    ['by their weights', 40, [{ ended: true }, { weight: 2 }, { weight: 1 }], [0, 26, 13]],
    ['what two left', 30, [{ ended: true, sent: 4 }, { ended: true, sent: 6 }, {}], [4, 6, 20]],
    ['one ran over, and the whole is kept', 30, [{ sent: 25 }, {}, {}], [10, 5, 5]],
    ['one ran over the whole', 30, [{ sent: 31 }, {}, {}], [10, 0, 0]],
    [
      'a grant goes beyond the allocation',
      30,
      [{ sent: 10, granted: 14 }, { sent: 9 }, { sent: 7 }],
      [14, 10, 10],
    ],
    ['but not beyond the whole', 30, [{ sent: 10, granted: 14 }, { sent: 9 }, { sent: 9 }], [12, 10, 10]],
  ])('%s', (_, total, states, limits) => {
    const all = states.map(stateOf)
    expect(all.map((__, place) => limitOf(total, all, place))).toEqual(limits)
  })
})

describe('what becomes of those that wait', () => {
  const NOBODY = { go: [], end: [], grant: null }

  test.each<[string, number, readonly Partial<AllocationState>[], object]>([
    ['nobody waits', 10, [{}, {}], NOBODY],
    ['it fits into the allocation', 10, [{ waitsFor: 5 }, {}], { ...NOBODY, go: [0] }],
    ['it does not, and the other is at work', 10, [{ waitsFor: 6 }, {}], NOBODY],
    [
      'the other has ended and left it',
      10,
      [{ waitsFor: 6 }, { ended: true, sent: 4 }],
      { ...NOBODY, go: [0] },
    ],
    [
      'the other has ended and left too little',
      10,
      [{ waitsFor: 7 }, { ended: true, sent: 4 }],
      { ...NOBODY, end: [0] },
    ],
    [
      'the other waits as well, but something is under way',
      10,
      [{ waitsFor: 6 }, { waitsFor: 9, reserved: 1 }],
      NOBODY,
    ],
    ['its own work may give something back', 10, [{ sent: 2, reserved: 5, waitsFor: 4 }], NOBODY],
    [
      'both wait: what fits into nothing ends',
      10,
      [{ waitsFor: 6 }, { waitsFor: 11 }],
      { ...NOBODY, end: [1] },
    ],
    [
      'each would fit into the rest, none into its allocation: the one behind',
      10,
      [
        { sent: 3, waitsFor: 3 },
        { sent: 2, waitsFor: 5 },
      ],
      { ...NOBODY, grant: 0 },
    ],
    [
      'behind by its weight',
      12,
      [
        { sent: 3, waitsFor: 4 },
        { weight: 2, sent: 4, waitsFor: 5 },
      ],
      { ...NOBODY, grant: 1 },
    ],
  ])('%s', (_, total, states, decision) => {
    expect(decide(total, states.map(stateOf))).toEqual(decision)
  })
})

const never = new AbortController().signal

const reserve = (of: Allocation | undefined, requests: number): void => {
  expect(of?.fits(requests)).toBe(true)
  of?.reserve(requests)
}

describe('the request budget', () => {
  test('who waits is woken by what another gives back', async () => {
    const [one, other] = createRequestBudget(10, [1, 1])
    reserve(other, 5)
    reserve(one, 5)
    const room = one?.room(3, never)
    other?.reserve(-5)
    other?.[Symbol.dispose]()
    expect(await room).toBe(true)
    expect([one?.fits(5), one?.fits(6), one?.mayGrow()]).toEqual([true, false, false])
  })

  test('a signal ends the wait, and nobody waits for one that has gone', async () => {
    const stop = new AbortController()
    const [one, other] = createRequestBudget(10, [1, 1])
    const first = one?.room(6, stop.signal)
    stop.abort()
    expect(await first).toBe(false)
    const second = other?.room(7, never)
    one?.[Symbol.dispose]()
    expect(await second).toBe(true)
    expect(await one?.room(1, stop.signal)).toBe(false)
  })
})

/** An account's bundles: what each is expected to take, and what it then takes, at most as much. */
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
  /** What it did not get room for; null when it got through. */
  refused: number | null
}

/** Works as a run does: takes bundles as long as there is room, some at once, and waits where there is none. */
const work = async (
  own: Allocation,
  { bundles, atOnce }: { bundles: readonly { expected: number; takes: number }[]; atOnce: number },
  turn: () => Promise<void>,
): Promise<Done> => {
  const done: Done = { sent: 0, refused: null }
  const underWay = new Set<Promise<void>>()
  const one = async ({ expected, takes }: { expected: number; takes: number }) => {
    for (let taken = 0; taken < takes; taken += 1) {
      await turn()
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

test('never over the whole, nobody below its allocation who has work, and nothing left over but less than a bundle', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 120 }),
      fc.array(account, { minLength: 1, maxLength: 5 }),
      fc.infiniteStream(fc.nat({ max: 3 })),
      async (total, accounts, turns) => {
        const budget = createRequestBudget(
          total,
          accounts.map(({ weight }) => weight),
        )
        const turn = async () => {
          for (let wait = turns.next().value ?? 0; wait > 0; wait -= 1) await Promise.resolve()
        }
        const done = await Promise.all(
          accounts.map((one, place) => work(budget[place] as Allocation, one, turn)),
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
  [
    'each wants more than its allocation',
    30,
    [
      [1, 99],
      [2, 99],
    ],
    [10, 20],
  ],
  [
    'what one leaves goes to the others',
    30,
    [
      [1, 4],
      [1, 99],
      [1, 99],
    ],
    [4, 13, 13],
  ],
  [
    'all want less',
    30,
    [
      [1, 4],
      [5, 9],
    ],
    [4, 9],
  ],
  [
    'one knows nothing of what it will want',
    10,
    [
      [1, Number.POSITIVE_INFINITY],
      [1, 2],
    ],
    [8, 2],
  ],
  ['there is nothing', 0, [[1, 4]], [0]],
])('expected allocations where %s', (_, total, wants, expected) => {
  expect(
    expectedAllocations(
      total,
      wants.map(([weight = 1, needed = 0]) => ({ weight, needed })),
    ),
  ).toEqual(expected)
})
