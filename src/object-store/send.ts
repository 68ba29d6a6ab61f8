/** The one way to send a request to a store, whatever its client. */
import { throwIfAborted, unlessAborted } from '../base/signals.js'
import { ObjectStoreError } from './object-store.js'

/** What a request was for, in messages: `cannot write current.json`. */
export type Purpose = `${'read' | 'write' | 'list' | 'delete'} ${string}`

/** The part of a client that messages need. */
export interface Sender {
  /** `s3://bucket/prefix`. */
  readonly address: string
  /** Says in one line why a request failed and what to check, without any credential. */
  readonly reasonOf: (error: unknown) => string
}

/**
 * Sends a request with the retries of its client. `whenRefused` may make an answer of an error; if it returns undefined, the error is
 * thrown as an `ObjectStoreError`. When `signal` aborts, this rejects at once, also while the client waits for its next attempt.
 */
export const sendRequest = async <Output, Refusal = never>(
  sender: Sender,
  purpose: Purpose,
  signal: AbortSignal,
  request: () => Promise<Output>,
  whenRefused: (error: unknown) => Refusal | undefined = () => undefined,
): Promise<Output | Refusal> => {
  throwIfAborted(signal)
  try {
    return await unlessAborted(signal, request())
  } catch (error) {
    throwIfAborted(signal)
    const answer = whenRefused(error)
    if (answer !== undefined) return answer
    throw failure(sender, purpose, error)
  }
}

/** Without the error as its cause: the errors of the clients hold the whole request, with the id of the access key. */
export const failure = ({ address, reasonOf }: Sender, purpose: Purpose, error: unknown): ObjectStoreError =>
  error instanceof ObjectStoreError
    ? error
    : new ObjectStoreError(`${address}: cannot ${purpose}: ${reasonOf(error)}`)
