/** No survey starves: with requests for one survey per run, each is refreshed within the bound, whatever the weights. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { urgency } from '../../../src/rules/queue.js'
import { cases } from '../../support/suite/cases.js'

/**
 * A failed attempt is a refresh here, because both are a turn. Every queued survey is refreshed within so many bundles of others, whatever
 * the weights, where `due` surveys are due over and over: (due - 1) * (1 + sqrt(heaviest / own))^2 + 1. The time since the last refresh grows without bound, and another
 * survey can come first only while its own, times its weight, is larger. Of the time t that a survey has waited look at
 * the last part, from x * t on: there another one comes first once, and again only after it has waited own / heaviest * x * t, so
 * at most 1 + (1 - x) / x * heaviest / own times in all. With a bundle a run, (1 - x) * t <= (due - 1) times that; the best
 * x makes it the bound above. Weights are bounded by the settings, so nothing starves.
 */
const bundlesUntilRefreshedMax = (due: number, ownWeight: number, heaviestWeight: number): number =>
  Math.ceil((due - 1) * (1 + Math.sqrt(heaviestWeight / ownWeight)) ** 2) + 1

const WEIGHTS_MAX = 100

/** The longest wait of the survey at `place`, in nights. */
const longestWait = (weights: readonly number[], place: number, nightsMax: number): number => {
  const last = weights.map(() => 0)
  let longest = 0
  for (let night = 1; night <= nightsMax; night += 1) {
    const urgencies = weights.map((weight, other) => urgency(night - (last[other] ?? 0), weight))
    const first = urgencies.indexOf(Math.max(...urgencies))
    if (first === place) longest = Math.max(longest, night - (last[place] ?? 0))
    last[first] = night
  }
  return Math.max(longest, nightsMax - (last[place] ?? 0))
}

test('with requests for one bundle per run, every due survey is refreshed within the bound', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: WEIGHTS_MAX }), { minLength: 1, maxLength: 12 }),
      fc.nat(),
      (weights, drawn) => {
        const place = drawn % weights.length
        const bound = bundlesUntilRefreshedMax(weights.length, weights[place] ?? 1, Math.max(...weights))
        expect(longestWait(weights, place, 3 * bound)).toBeLessThanOrEqual(bound)
      },
    ),
    cases(200, 10_000),
  )
})
