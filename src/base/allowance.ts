/**
 * Permission to send requests. The budget of a run gives an allowance to each listing and each bundle. Before each send, retries included,
 * the HTTP client takes one request from it. So a budget limits the requests that are sent, not an estimate of them
 * (docs/decisions/accounts-and-budgets.md#0053-budgets-are-kept-to-the-request).
 */
export interface Allowance {
  /** Takes one request from the allowance. Throws a `StoppedError` when no request is left. */
  take(): void
}

/** An answer as it came. */
export interface KeptAnswer {
  readonly text: string
  /** When it was answered, milliseconds since 1970. */
  readonly dateMs: number
}

/** The answers of a survey that may take several runs. A kept answer is not requested again. */
export interface KeptAnswers {
  /** Null if the answer is not kept. A page of a list is given `once`: the list is read again only if it may have changed. */
  answerOf(request: string, use: 'once' | 'always'): KeptAnswer | null
  add(request: string, answer: KeptAnswer): Promise<void>
}

/** What a request is sent with. */
export interface RequestContext {
  /** Aborts the request and every wait before it; the promise rejects with its reason. */
  readonly signal: AbortSignal
  readonly allowance: Allowance
  /** How often the request may be sent, if less often than the settings say. */
  readonly attemptsMax?: number | undefined
  readonly kept?: KeptAnswers | undefined
}
