/**
 * Which stored times the rules believe. A clock that was wrong for one night leaves times in the future, and a rule that believed them
 * would do nothing until that future.
 */
import { type Instant, msBetween } from '../model/instant.js'

/** The stored time; null if it is missing or later than `now`. Both times come from the same clock. */
export const believed = (at: Instant | null, now: Instant): Instant | null =>
  at === null || at > now ? null : at

/** Milliseconds from a stored time to `now`; Infinity if it is missing or later than `now`. */
export const ageMs = (at: Instant | null, now: Instant): number => {
  const since = believed(at, now)
  return since === null ? Number.POSITIVE_INFINITY : msBetween(since, now)
}
