/**
 * The errors of a request, grouped by what to do next. A message says what happened, where (method, path and query, never headers) and what
 * to do now. Quoted text of the server is redacted and cut to one line.
 */
import { type ErrorCode, ExpectedError, messageOf, UpstreamError, WarehouseError } from '../base/errors.js'
import { humanDuration } from '../base/human.js'
import type { Rate } from '../base/network.js'

/** The API refused the request by its status. Other addresses may be readable, so the caller decides what ends. */
export class StatusError extends UpstreamError {
  readonly status: number

  constructor(code: ErrorCode, status: number, message: string) {
    super(code, message)
    this.status = status
  }
}

export interface Where {
  /** Method, path and query, as in `GET /api/v1/surveys?page=2`. */
  readonly request: string
  readonly account: string
}

const response = (excerpt: string): string => (excerpt === '' ? '' : ` (response: ${excerpt})`)

type StatusCode = 'credentials_refused' | 'not_there' | 'request_rejected' | 'unexpected_status'

const STATUS_PROBLEMS: Readonly<Record<StatusCode, (status: number, where: Where) => string>> = {
  // 401, 403.
  credentials_refused: (status, { request, account }) =>
    `the API refused the credentials (${status}) at ${request}: check id and token of account '${account}'`,
  // 404: the resource does not exist or was deleted. The caller decides what follows. The list of surveys exists at every right address.
  not_there: (status, { request, account }) =>
    `the API has no resource at ${request} (${status})${/\/surveys\/\d/.test(request) ? '' : `: check base_url of account '${account}'`}`,
  // Any other 4xx: this request is wrong; others may succeed.
  request_rejected: (status, { request }) =>
    `the API rejected ${request} (${status}); a later run may repeat it`,
  // A status that the API has no reason to send.
  unexpected_status: (status, { request }) =>
    `the API answered ${request} with the unexpected status ${status}`,
}

export const refused = (code: StatusCode, status: number, where: Where, excerpt: string): StatusError =>
  new StatusError(code, status, STATUS_PROBLEMS[code](status, where) + response(excerpt))

/** 3xx. Credentials are never sent to the target of a redirect. */
export const redirectRefused = (status: number, where: Where, target: string | null): StatusError =>
  new StatusError(
    'redirect_refused',
    status,
    `the API redirects (${status}) ${where.request} to ${target ?? 'an unknown host'}, but credentials are sent only to ` +
      `base_url; if the API has moved, change base_url of account '${where.account}'`,
  )

/** The body is larger than `limits.response_bytes_max`. A retry would give the same. */
export const bodyTooLarge = (where: Where, bytesMax: number): UpstreamError =>
  new UpstreamError(
    'body_too_large',
    `the answer to ${where.request} is larger than ${bytesMax} bytes: ` +
      'raise limits.response_bytes_max if that size is expected',
  )

/** All attempts failed; `cause` is the last `TransientError`. */
export const attemptsExhausted = (where: Where, attempts: number, cause: Error): UpstreamError => {
  const count = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  const message = `gave up on ${where.request} after ${count}: ${cause.message}`
  return new UpstreamError('attempts_exhausted', message, { cause })
}

/** Nothing was answered for `limits.patience`, or until the run has to end; `cause` is the last failure. */
export const noAnswer = (
  account: string,
  unansweredMs: number,
  patienceMs: number,
  cause: Error | undefined,
): UpstreamError => {
  const last = cause === undefined ? '' : `, the last time: ${cause.message}`
  return new UpstreamError(
    'no_answer',
    `the API of account '${account}' gave no usable answer for ${humanDuration(unansweredMs)}${last}. ` +
      `Start the run again when the service answers; limits.patience (${humanDuration(patienceMs)}) is how long a run waits`,
    { cause },
  )
}

/** A 429 after every pause: another client uses up the account's cap, or the cap is below `rate_limit`. */
export const rateRefused = (where: Where, pauses: number, rate: Rate): UpstreamError =>
  new UpstreamError(
    'rate_refused',
    `the API answered 429 (too many requests) for account '${where.account}'` +
      `${pauses > 1 ? ` ${pauses} times in a row, last` : ''} at ${where.request}: ` +
      'check whether others use this account or its cap is below ' +
      `${rate.requests} per ${rate.perMs / 1000} s (rate_limit)`,
  )

export const retryAfterTooLong = (where: Where, retryAfterMs: number, maxMs: number): UpstreamError =>
  new UpstreamError(
    'retry_after_too_long',
    `the API answered 429 (too many requests) for account '${where.account}' at ${where.request} and requested a wait of ` +
      `${Math.ceil(retryAfterMs / 1000)} s, longer than the ${maxMs / 1000} s that a run waits: run again later`,
  )

export const invalidHeader = (name: string, account: string): ExpectedError =>
  new ExpectedError(
    'invalid_header',
    `the value of header ${name} of account '${account}' has characters that HTTP cannot carry: ` +
      'look for a line break or a character that is not ASCII',
  )

/** The request ledger cannot be read or written. Without it the cap cannot be kept across restarts. */
export const ledgerError = (path: string, what: 'read' | 'written', cause: unknown): WarehouseError =>
  new WarehouseError(
    'ledger_unwritable',
    `the request ledger ${path} cannot be ${what}: ${messageOf(cause)}; check space and permissions`,
    { cause },
  )

/** The Redis that shares the cap cannot be used. Without it the free part of the cap is unknown. */
export const sharedCapError = (account: string, address: string, problem: string): UpstreamError =>
  new UpstreamError(
    'shared_cap_unreachable',
    `the Redis that shares the cap of account '${account}', ${address}, cannot be used: ${problem}; nothing is sent ` +
      'without it: check that Redis runs and that rate_limit.shared is correct, or set rate_limit.shared_fallback to the ' +
      'number of requests per window that this process may send without Redis',
  )

/**
 * Whether a failure may pass after a wait. A wrong certificate does not. A host name that DNS does not know is a typing error, unless the
 * API was reached under this name before.
 */
export type Passes = 'later' | 'if known' | 'never'

/** A failure that may pass: the request is tried again. The failure of the last attempt is reported. */
export class TransientError extends UpstreamError {
  readonly passes: Passes

  constructor(code: ErrorCode, message: string, { passes = 'later', ...options }: TransientOptions = {}) {
    super(code, message, options)
    this.passes = passes
  }
}

interface TransientOptions extends ErrorOptions {
  readonly passes?: Passes | undefined
}

/** 408 or 5xx. */
export const serverTrouble = (status: number, excerpt: string): TransientError =>
  new TransientError('server_trouble', `the API answered ${status}${response(excerpt)}`)

/** No complete answer within `limits.request_timeout`. */
export const requestTimeout = (host: string, timeoutMs: number): TransientError =>
  new TransientError('request_timeout', `${host} gave no complete answer within ${timeoutMs / 1000} s`)

export const connectionFailed = (
  host: string,
  problem: string,
  options: { readonly cause: unknown; readonly passes: Passes },
): TransientError => new TransientError('connection_failed', `${host}: ${problem}`, options)

/** A 200 whose body is cut short, not JSON, or in an unknown encoding. */
export const invalidBody = (problem: string): TransientError =>
  new TransientError('invalid_body', `the answer is not valid JSON: ${problem}`)
