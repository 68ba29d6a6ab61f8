import { expect, test } from 'vitest'
import { instantFromMs } from '../../../../src/model/instant.js'
import { chanceToFind, inSampleOrder, onePercentOf } from '../../../../src/verify/sample/choose.js'

const DAY_MS = 86_400_000
const daysAgo = (days: number) => instantFromMs(Date.parse('2026-03-31T00:00:00Z') - days * DAY_MS)
const candidates = Array.from({ length: 100 }, (_, id) => ({ id, refreshedAt: daysAgo(id < 50 ? 0 : 29) }))
const order = (seed: string, account = 'default') =>
  inSampleOrder(candidates, { account, seed }).map(({ id }) => id)

test('a seed chooses the same surveys again, another seed or account chooses others, and each survey comes once', () => {
  expect(order('one')).toEqual(order('one'))
  expect(order('one')).not.toEqual(order('two'))
  expect(order('one')).not.toEqual(order('one', 'globex'))
  expect(order('one').toSorted((a, b) => a - b)).toEqual(candidates.map(({ id }) => id))
})

test('a survey that was read 29 days ago is chosen about 30 times as often as one that was read today', () => {
  const firsts = Array.from({ length: 400 }, (_, seed) => order(String(seed))[0] ?? 0)
  const fresh = firsts.filter((id) => id < 50).length
  // The expected number is 400 / 31 = 13.
  expect(fresh).toBeGreaterThan(4)
  expect(fresh).toBeLessThan(30)
})

test.each([
  { surveys: 100, sampled: 100, wrong: 1, chance: 1 },
  { surveys: 100, sampled: 0, wrong: 1, chance: 0 },
  { surveys: 100, sampled: 20, wrong: 1, chance: 0.2 },
  { surveys: 10, sampled: 2, wrong: 2, chance: 1 - (8 / 10) * (7 / 9) },
  { surveys: 3, sampled: 2, wrong: 2, chance: 1 },
  { surveys: 0, sampled: 0, wrong: 1, chance: 0 },
])('$sampled of $surveys with $wrong wrong: $chance', ({ surveys, sampled, wrong, chance }) => {
  expect(chanceToFind(surveys, sampled, wrong)).toBeCloseTo(chance, 12)
})

test('one percent is at least one survey', () => {
  expect([0, 1, 60, 150, 1_200].map(onePercentOf)).toEqual([1, 1, 1, 2, 12])
})
