/**
 * How long to wait before the next attempt: exponential backoff with full jitter. Full, because the requests of
 * a burst fail together, and any fixed share of the wait would send them again together.
 */
export interface Backoff {
  /** Upper end of the wait after the first attempt, milliseconds. */
  readonly baseMs: number
  /** No wait is longer, whatever the server asks for, milliseconds. */
  readonly maxMs: number
}

/** Upper end of the wait after `attempt` (from 1) failed: doubles with each, up to `maxMs`. */
export const backoffCeilingMs = (attempt: number, { baseMs, maxMs }: Backoff): number =>
  Math.min(maxMs, baseMs * 2 ** Math.max(0, attempt - 1))

/**
 * The wait after `attempt` (from 1) failed. `random` is from 0 to 1. `askedMs` is what a `Retry-After` on that
 * answer asked for, null without one: the wait is never shorter, unless that is longer than `maxMs`. One slow
 * corner of the API must not hold its task for an hour; the task stays queued if all attempts fail.
 */
export const retryWaitMs = (
  attempt: number,
  backoff: Backoff,
  random: number,
  askedMs: number | null = null,
): number => {
  const jittered = random * backoffCeilingMs(attempt, backoff)
  return Math.round(Math.min(backoff.maxMs, Math.max(jittered, askedMs ?? 0)))
}
