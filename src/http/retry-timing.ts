/**
 * The wait before the next attempt: exponential backoff with full jitter. The requests of a burst fail together, and a fixed
 * part in their waits would send them together again.
 */
export interface Backoff {
  /** Upper end of the wait after the first attempt, milliseconds. */
  readonly baseMs: number
  /** The longest wait, also if the server requests a longer one, milliseconds. */
  readonly maxMs: number
}

/** Upper end of the wait after `attempt` (from 1) failed. It doubles with each attempt, up to `maxMs`. */
export const backoffCeilingMs = (attempt: number, { baseMs, maxMs }: Backoff): number =>
  Math.min(maxMs, baseMs * 2 ** Math.max(0, attempt - 1))

/**
 * The wait after `attempt` (from 1) failed, milliseconds. `random` is from 0 to 1. The wait is at least `retryAfterMs`, the
 * `Retry-After` of that answer (null without one), but never above `maxMs`. One slow endpoint must not hold its task for an
 * hour; the task stays queued if all attempts fail.
 */
export const retryWaitMs = (
  attempt: number,
  backoff: Backoff,
  random: number,
  retryAfterMs: number | null = null,
): number => {
  const jittered = random * backoffCeilingMs(attempt, backoff)
  return Math.round(Math.min(backoff.maxMs, Math.max(jittered, retryAfterMs ?? 0)))
}
