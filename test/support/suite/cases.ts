/**
 * How many cases a property test tries: a few in `npm test`, which has to be fast on two cores, and ten thousand in the
 * slow suite. fast-check prints the seed and path of a failed case; `{ seed, path }` beside `numRuns` replays it.
 */
import fc from 'fast-check'
import { test } from 'vitest'
import { SLOW } from './slow.js'

const CASES_SLOW = 10_000

/** Parameters for `fc.assert`. Where a case takes long, `slow` lowers the number of the slow suite. */
export const cases = (quick: number, slow = CASES_SLOW): { readonly numRuns: number } => ({
  numRuns: SLOW ? slow : quick,
})

/** A test of what holds for any values that are drawn. Without parameters it tries 100 cases. */
export const property = <Drawn extends [unknown, ...unknown[]]>(
  title: string,
  values: { [Place in keyof Drawn]: fc.Arbitrary<Drawn[Place]> },
  parameters: fc.Parameters<Drawn>,
  holds: (...drawn: Drawn) => void,
): void =>
  test(title, () =>
    fc.assert(
      fc.property<Drawn>(...values, (...drawn) => holds(...drawn)),
      parameters,
    ),
  )
