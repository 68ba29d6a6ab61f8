/**
 * Permission to send requests, from the budget of a run to each listing and bundle. The HTTP client takes from it before each send, so a
 * budget limits what is sent, not an estimate (docs/decisions/accounts-and-budgets.md#0053-budgets-are-kept-to-the-request).
 */
export interface Allowance {
  /** Takes one request from the allowance. Throws a `StoppedError` when no request is left. */
  take(): void
}

/** For commands that have no budget. */
export const unlimitedAllowance: Allowance = Object.freeze({ take: () => undefined })
