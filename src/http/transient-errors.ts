/** Failures that may pass: the request is tried again. The failure of the last attempt is reported. */
import { UpstreamError } from '../base/errors.js'

export class TransientError extends UpstreamError {}

/** 408 or 5xx. */
export const serverTrouble = (status: number, excerpt: string): TransientError =>
  new TransientError(
    'server_trouble',
    `the API answered ${status}${excerpt === '' ? '' : ` (response: ${excerpt})`}`,
  )

/** No complete answer within `limits.request_timeout`. */
export const requestTimeout = (host: string, timeoutMs: number): TransientError =>
  new TransientError('request_timeout', `${host} gave no complete answer within ${timeoutMs / 1000} s`)

/** No connection, or one that broke. */
export const connectionFailed = (host: string, problem: string, cause: unknown): TransientError =>
  new TransientError('connection_failed', `${host}: ${problem}`, { cause })

/** A 200 whose body is cut short, not JSON, or in an unknown encoding. */
export const invalidBody = (problem: string): TransientError =>
  new TransientError('invalid_body', `the answer is not valid JSON: ${problem}`)
