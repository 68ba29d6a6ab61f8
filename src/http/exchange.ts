/**
 * One exchange: sends a request once and reads its answer to the end, within the request timeout. It returns a failure that
 * may pass, such as a timeout or a broken connection, and throws any other.
 */
import { abortReason, type Clock, throwIfAborted } from '../base/clock.js'
import { ExpectedError } from '../base/errors.js'
import type { HttpProxy } from '../base/network.js'
import type { Address } from './address.js'
import { connectionFailure } from './connection-failure.js'
import { ProxyRefusedError, ProxyTroubleError, peerOf } from './proxy.js'
import { joinSignals, orAbort } from './signals.js'
import { ConnectionError, RequestTimeoutError } from './transient-errors.js'
import type { Transport, TransportAnswer } from './transport.js'

export interface ExchangeOptions {
  readonly transport: Transport
  readonly address: Address
  readonly requestTimeoutMs: number
  /** The proxy of the transport, for messages. */
  readonly proxy?: HttpProxy | null
  readonly clock: Clock
  /** Ends the exchange; it rejects with the signal's reason. */
  readonly signal: AbortSignal
}

export type Exchanged<Value> =
  | { readonly kind: 'answered'; readonly value: Value }
  | {
      readonly kind: 'broken'
      readonly error: RequestTimeoutError | ConnectionError | ProxyTroubleError | ProxyRefusedError
      /** No byte of the request can have been sent. */
      readonly certainlyUnsent: boolean
    }

/** `read` is called when the response headers have arrived. It reads as much of the body as it needs. */
export const exchange = async <Value>(
  { transport, address, requestTimeoutMs, proxy = null, clock, signal }: ExchangeOptions,
  read: (answer: TransportAnswer) => Promise<Value>,
): Promise<Exchanged<Value>> => {
  using stop = joinSignals(signal)
  const ended = new AbortController()
  const timeout = new RequestTimeoutError(peerOf(address, proxy), requestTimeoutMs)
  clock.sleep(requestTimeoutMs, ended.signal).then(
    () => stop.abort(timeout),
    () => undefined,
  )
  try {
    // While undici connects, it acts on an abort only when the connection is established.
    const answer = await orAbort(transport.get(address, stop.signal), stop.signal)
    const value = await read(answer)
    throwIfAborted(signal)
    return { kind: 'answered', value }
  } catch (error) {
    if (signal.aborted) throw abortReason(signal)
    if (error instanceof ProxyTroubleError || error instanceof ProxyRefusedError) {
      return { kind: 'broken', error, certainlyUnsent: error.certainlyUnsent }
    }
    if (error instanceof ExpectedError && error !== timeout) throw error
    if (stop.signal.aborted) return { kind: 'broken', error: timeout, certainlyUnsent: false }
    const failure = connectionFailure(error)
    if (failure === null) throw error
    const { problem, certainlyUnsent } = failure
    return {
      kind: 'broken',
      error: new ConnectionError(peerOf(address, proxy), problem, error),
      certainlyUnsent,
    }
  } finally {
    ended.abort()
  }
}
