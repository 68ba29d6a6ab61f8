/**
 * Which stored times the rules believe. A clock that was wrong for one night leaves times that lie ahead; a rule that
 * believed them would rest until they have come. So no rule reads a stored time but through here.
 */
import { type Instant, msBetween } from './instant.js'

/** The stored time, or null where it is missing or lies ahead of `now`. Both come from the same clock. */
export const believed = (at: Instant | null, now: Instant): Instant | null =>
  at === null || at > now ? null : at

/** Milliseconds from a stored time to `now`; Infinity where the time is missing or lies ahead. */
export const ageMs = (at: Instant | null, now: Instant): number => {
  const since = believed(at, now)
  return since === null ? Number.POSITIVE_INFINITY : msBetween(since, now)
}
