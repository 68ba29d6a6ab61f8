/** How long a failed request waits before it is sent again. */

export interface RetryLimits {
  /** The longest wait before the first retry, and before any retry, ms. */
  readonly backoff_base: number
  readonly backoff_max: number
}

/**
 * The wait after `attempt` (from 1) failed, milliseconds: exponential backoff with full jitter. The requests of a burst fail together, and
 * a fixed part in their waits would send them together again. The wait is at least the `Retry-After` of the failed answer, but never above
 * `backoff_max`: one slow endpoint must not hold its task for an hour, and the task stays queued if all attempts fail.
 */
export const retryWaitMs = (
  attempt: number,
  { backoff_base, backoff_max }: RetryLimits,
  random: number,
  retryAfterMs: number | null = null,
): number => {
  const jittered = random * Math.min(backoff_max, backoff_base * 2 ** (attempt - 1))
  return Math.round(Math.min(backoff_max, Math.max(jittered, retryAfterMs ?? 0)))
}
