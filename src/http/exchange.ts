/**
 * One exchange: a request is sent once and its answer read to the end, within the request timeout. What may go away by
 * itself, a timeout or a connection that broke, is told; everything else is thrown.
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
  /** The timeout of the transport, for messages. */
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
      /** Not a byte of the request can have left. */
      readonly certainlyUnsent: boolean
    }

/** `read` is called when the response headers are here, and reads the body as far as it wants it. */
export const exchange = async <Value>(
  { transport, address, requestTimeoutMs, proxy = null, clock, signal }: ExchangeOptions,
  read: (answer: TransportAnswer) => Promise<Value>,
): Promise<Exchanged<Value>> => {
  using stop = joinSignals(signal)
  const over = new AbortController()
  const timeout = new RequestTimeoutError(peerOf(address, proxy), requestTimeoutMs)
  clock.sleep(requestTimeoutMs, over.signal).then(
    () => stop.abort(timeout),
    () => undefined,
  )
  try {
    // An abort while undici still connects would be noticed only when the connection stands.
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
    over.abort()
  }
}
