/**
 * What a request can end with, grouped by what to do next. Messages say what happened, where (method, path and
 * query, never headers) and what now; whatever a server wrote into them has been redacted and cut to one line.
 */
import { ConfigError, messageOf, UpstreamError, WarehouseError } from '../base/errors.js'
import type { Rate } from '../base/network.js'

/** The API answered with a status that means no. It says nothing about other addresses: the caller decides what ends. */
export abstract class StatusError extends UpstreamError {
  readonly endsRun = false
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Where a request went and to whom it belongs, for messages. */
export interface Where {
  /** Method, path and query, as in `GET /api/v1/surveys?page=2`. */
  readonly request: string
  readonly account: string
}

/** What the server wrote, as ` (it said: …)`; nothing when that was nothing. */
const said = (excerpt: string): string => (excerpt === '' ? '' : ` (it said: ${excerpt})`)

/** 401, 403. */
export class CredentialsRefusedError extends StatusError {
  readonly code = 'credentials_refused'

  constructor(status: number, where: Where, excerpt: string) {
    super(
      status,
      `the API refused the credentials (${status}) at ${where.request}: ` +
        `check id and token of account '${where.account}'${said(excerpt)}`,
    )
  }
}

/** 3xx: credentials never follow a redirect. */
export class RedirectRefusedError extends StatusError {
  readonly code = 'redirect_refused'

  /** `target` is the host of the `Location` header, null where it names none. */
  constructor(status: number, where: Where, target: string | null) {
    super(
      status,
      `the API redirects (${status}) ${where.request} to ${target ?? 'nowhere'}: not followed, credentials stay ` +
        `with base_url; if it has moved, change base_url of account '${where.account}'`,
    )
  }
}

/** 404: what was asked for is not there, or no longer. The caller knows what that means. */
export class NotThereError extends StatusError {
  readonly code = 'not_there'

  constructor(where: Where, excerpt: string) {
    super(404, `the API knows nothing at ${where.request} (404)${said(excerpt)}`)
  }
}

/** Any other 4xx: this request is wrong, others may be right. */
export class RequestRejectedError extends StatusError {
  readonly code = 'request_rejected'

  constructor(status: number, where: Where, excerpt: string) {
    super(status, `the API rejected ${where.request} (${status}): it is left for another run${said(excerpt)}`)
  }
}

/** A status that this API has no reason to give. */
export class UnexpectedStatusError extends StatusError {
  readonly code = 'unexpected_status'

  constructor(status: number, where: Where, excerpt: string) {
    super(
      status,
      `the API answered ${where.request} with ${status}, which means nothing here${said(excerpt)}`,
    )
  }
}

/** The body is larger than `limits.response_bytes_max`. Asking again would give the same. */
export class BodyTooLargeError extends UpstreamError {
  readonly code = 'body_too_large'
  readonly endsRun = false

  constructor(where: Where, bytesMax: number) {
    super(
      `the answer to ${where.request} is larger than ${bytesMax} bytes: ` +
        'raise limits.response_bytes_max if that is right',
    )
  }
}

/** All attempts failed; `cause` is the last `TransientError`. */
export class AttemptsExhaustedError extends UpstreamError {
  readonly code = 'attempts_exhausted'
  readonly endsRun = false

  readonly attempts: number

  constructor(where: Where, attempts: number, cause: Error) {
    const count = attempts === 1 ? '1 attempt' : `${attempts} attempts`
    super(`gave up on ${where.request} after ${count}: ${cause.message}`, { cause })
    this.attempts = attempts
  }
}

/** Refused with 429 after every pause: someone else uses up the account's cap, or it is lower than ours. */
export class RateRefusedError extends UpstreamError {
  readonly code = 'rate_refused'
  readonly endsRun = true

  constructor(where: Where, pauses: number, rate: Rate) {
    super(
      `the API refused account '${where.account}' for its rate (429)${pauses > 1 ? ` ${pauses} times in a row, last` : ''} at ` +
        `${where.request}: see who else uses the account, or whether its cap is lower than ` +
        `${rate.requests} per ${rate.perMs / 1000} s (rate_limit)`,
    )
  }
}

/** A `Retry-After` that no run waits for. */
export class RetryAfterTooLongError extends UpstreamError {
  readonly code = 'retry_after_too_long'
  readonly endsRun = true

  constructor(where: Where, askedMs: number, maxMs: number) {
    super(
      `the API refused account '${where.account}' for its rate (429) at ${where.request} and asked for a wait of ` +
        `${Math.ceil(askedMs / 1000)} s, longer than the ${maxMs / 1000} s that a run waits: run again later`,
    )
  }
}

/** A header value that HTTP cannot carry. */
export class InvalidHeaderError extends ConfigError {
  readonly code = 'invalid_header'

  constructor(name: string, account: string) {
    super(
      `the value of header ${name} of account '${account}' has characters that HTTP cannot carry: ` +
        'look for a line break or a letter that is not ASCII',
    )
  }
}

/** The request ledger cannot be read or written: without it the cap cannot be kept across restarts. */
export class LedgerError extends WarehouseError {
  readonly code = 'ledger_unwritable'

  constructor(path: string, what: 'read' | 'written', cause: unknown) {
    super(`the request ledger ${path} cannot be ${what}: ${messageOf(cause)}; check space and permissions`, {
      cause,
    })
  }
}

/** The Redis that shares the cap cannot be reached: without it nobody knows how much of the cap is left. */
export class SharedCapError extends UpstreamError {
  readonly code = 'shared_cap_unreachable'
  readonly endsRun = true

  constructor(account: string, address: string, problem: string) {
    super(
      `the Redis that shares the cap of account '${account}', ${address}, cannot be used: ${problem}; nothing is sent ` +
        'without it: see whether it runs and rate_limit.shared is right, or set rate_limit.shared_fallback to what this process may use without it',
    )
  }
}
