/** Failures that may pass: the request is tried again. The failure of the last attempt is reported. */
import { UpstreamError } from '../base/errors.js'

export abstract class TransientError extends UpstreamError {
  readonly endsRun = false
}

/** 408 or 5xx. */
export class ServerTroubleError extends TransientError {
  readonly code = 'server_trouble'

  readonly status: number

  constructor(status: number, excerpt: string) {
    super(`the API answered ${status}${excerpt === '' ? '' : ` (response: ${excerpt})`}`)
    this.status = status
  }
}

/** No complete answer within `limits.request_timeout`. */
export class RequestTimeoutError extends TransientError {
  readonly code = 'request_timeout'

  constructor(host: string, timeoutMs: number) {
    super(`${host} gave no complete answer within ${timeoutMs / 1000} s`)
  }
}

/** No connection, or one that broke. */
export class ConnectionError extends TransientError {
  readonly code = 'connection_failed'

  /** `problem` is in words. */
  constructor(host: string, problem: string, cause: unknown) {
    super(`${host}: ${problem}`, { cause })
  }
}

/** A 200 whose body is cut short, not JSON, or in an unknown encoding. */
export class InvalidBodyError extends TransientError {
  readonly code = 'invalid_body'

  constructor(problem: string) {
    super(`the answer is not valid JSON: ${problem}`)
  }
}
