/**
 * How many cases a property test tries: a few in `npm test`, which has no time on two cores, and ten thousand in the
 * slow suite. fast-check prints the seed and the path of what fails; `{ seed, path }` beside `numRuns` plays it again.
 */
import { SLOW } from './slow.js'

const CASES_SLOW = 10_000

/** For `fc.assert`. Where a case is dear, `slow` says how many the slow suite has time for. */
export const cases = (quick: number, slow = CASES_SLOW): { readonly numRuns: number } => ({
  numRuns: SLOW ? slow : quick,
})

/** The time limit of a test that tries so many, milliseconds. */
export const CASES_TIMEOUT_MS = 600_000
