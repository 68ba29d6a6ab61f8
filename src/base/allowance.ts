/**
 * Permission to send requests. The budget of a run gives one to each listing and each bundle. The HTTP client takes from
 * it before each send, retries included. So a budget limits the requests that are sent, not an estimate of them
 * (docs/decisions/accounts-and-budgets.md#0053-budgets-are-kept-to-the-request).
 */
export interface Allowance {
  /** Takes one request from the allowance. Throws a `StoppedError` when no request is left. */
  take(): void
}

/** What a request is sent with. */
export interface RequestContext {
  /** Aborts the request and every wait before it; the promise rejects with its reason. */
  readonly signal: AbortSignal
  readonly allowance: Allowance
  /** How often the request may be sent, if less often than the settings say. */
  readonly attemptsMax?: number | undefined
}
