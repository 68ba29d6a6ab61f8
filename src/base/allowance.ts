/**
 * Leave to send requests. The budget of a run hands one to every piece of work, and the HTTP client asks it
 * before each send, retries included: a budget is kept to the request, not to the estimate.
 */
export interface Allowance {
  /** Takes leave for one request. Throws a `StoppedError` when there is none left. */
  take(): void
}

/** For commands that have no budget. */
export const unlimitedAllowance: Allowance = Object.freeze({ take: () => undefined })
