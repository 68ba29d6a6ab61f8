/** The one way to send a request to the store: it ends at once when its signal aborts, and each error says what the request was for. */
import { throwIfAborted, unlessAborted } from '../../base/clock.js'
import { ObjectStoreError } from '../errors.js'
import type { S3Connection } from './connection.js'
import { reasonOf } from './failure.js'

/** What a request was for, in messages: `cannot write current.json`. */
export type Purpose = `${'read' | 'write' | 'list' | 'delete'} ${string}`

/**
 * Sends a request, with the SDK's retries. `whenRefused` may make an answer of an error; if it returns undefined, the error is
 * thrown as an `ObjectStoreError`. When `signal` aborts, this rejects at once, also while the SDK waits for its next attempt.
 */
export const send = async <Answer, Refusal = never>(
  { address }: S3Connection,
  purpose: Purpose,
  signal: AbortSignal,
  request: () => Promise<Answer>,
  whenRefused: (error: unknown) => Refusal | undefined = () => undefined,
): Promise<Answer | Refusal> => {
  throwIfAborted(signal)
  try {
    return await unlessAborted(signal, request())
  } catch (error) {
    throwIfAborted(signal)
    const answer = whenRefused(error)
    if (answer !== undefined) return answer
    throw failure(address, purpose, error)
  }
}

/** Without the error as its cause: the SDK's errors hold the whole request, with the id of the access key. */
export const failure = (address: string, purpose: Purpose, error: unknown): ObjectStoreError =>
  error instanceof ObjectStoreError
    ? error
    : new ObjectStoreError(`${address}: cannot ${purpose}: ${reasonOf(error)}`)
