/**
 * How many cases of the same a test tries: a few in `npm test`, which has to be fast on two cores, and all of them, or ten thousand, in
 * `npm run test:full`. fast-check prints the seed and path of a failed case; `{ seed, path }` beside `numRuns` replays it.
 */
import fc from 'fast-check'
import { test } from 'vitest'

/** `test/vitest.config.ts` sets the variable in the full suite. */
export const ALL_CASES = process.env.CASES === 'all'

/** Of the values that a test goes through, `npm test` takes the first ones. */
export const some = <Value>(values: readonly Value[], first: number): readonly Value[] =>
  ALL_CASES ? values : values.slice(0, first)

/** A number of surveys, nights or repetitions: `few` in `npm test`. */
export const howMany = (few: number, many: number): number => (ALL_CASES ? many : few)

/** Parameters for `fc.assert`. Where a case takes long, `many` lowers the number of the full suite. */
export const cases = (few: number, many = 10_000): { readonly numRuns: number } => ({
  numRuns: howMany(few, many),
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
