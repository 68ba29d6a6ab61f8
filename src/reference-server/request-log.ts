/**
 * Every arrival at the API, refused ones included, with its real time: what a test of a client's pacing reads.
 * Bounded: the oldest give way, and how many did is told. Somebody else's requests (`foreignLoad`) never arrive here
 * and are not in it.
 */

/** One arrival under `/api/v1`. */
export interface LoggedRequest {
  /** Real time of arrival, milliseconds since 1970 with fractions, on a clock that never goes back. */
  readonly at_ms: number
  /** Name of the account; null when the credentials name none. */
  readonly account: string | null
  readonly method: string
  readonly path: string
  /** As it was sent, without the question mark. */
  readonly query: string
  /** Status that is sent; null where a fault keeps the answer back for good. */
  readonly status: number | null
  /** Places, from 0, of the faults that acted on it. */
  readonly faults: readonly number[]
}

const REQUESTS_MAX = 1_000_000

export class RequestLog {
  readonly #requestsMax: number
  #requests: LoggedRequest[] = []
  /** Number of the first entry that is kept, counted since the log was last cleared. */
  #dropped = 0

  constructor(requestsMax: number = REQUESTS_MAX) {
    this.#requestsMax = requestsMax
  }

  /** How many of the oldest requests are no longer kept. */
  get dropped(): number {
    return this.#dropped
  }

  add(request: LoggedRequest): void {
    if (this.#requests.length < this.#requestsMax) {
      this.#requests.push(request)
      return
    }
    this.#requests[this.#dropped % this.#requestsMax] = request
    this.#dropped += 1
  }

  clear(): void {
    this.#requests = []
    this.#dropped = 0
  }

  /** In the order of arrival, as far as they are kept. */
  list(): readonly LoggedRequest[] {
    const first = this.#dropped % this.#requestsMax
    return first === 0
      ? [...this.#requests]
      : [...this.#requests.slice(first), ...this.#requests.slice(0, first)]
  }
}
