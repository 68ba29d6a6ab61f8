/**
 * One exchange: sends a request once and reads its answer to the end, within the request timeout. It returns a failure that
 * may pass, such as a timeout or a broken connection, and throws any other.
 */
import type { Clock } from '../base/clock.js'
import { ExpectedError, StoppedError } from '../base/errors.js'
import type { HttpProxy } from '../base/network.js'
import type { Address } from './address.js'
import { connectionFailure } from './connection-failure.js'
import { ProxyRefusedError, ProxyTroubleError, peerOf } from './proxy.js'
import { onAbort, throwIfAnyAborted } from './signals.js'
import { connectionFailed, requestTimeout, type TransientError } from './transient-errors.js'
import type { Transport, TransportAnswer } from './transport.js'

export interface ExchangeOptions {
  readonly transport: Transport
  readonly address: Address
  readonly requestTimeoutMs: number
  /** The proxy of the transport, for messages. */
  readonly proxy?: HttpProxy | null
  readonly clock: Clock
  /** Each of them ends the exchange, which rejects with the signal's reason. */
  readonly signals: readonly AbortSignal[]
}

export type Exchanged<Value> =
  | { readonly kind: 'answered'; readonly value: Value }
  | {
      readonly kind: 'broken'
      readonly error: TransientError | ProxyRefusedError
      /** No byte of the request can have been sent. */
      readonly certainlyUnsent: boolean
    }

/** Ends the timer of an exchange that has ended. */
const ENDED = new StoppedError('the exchange has ended')

/** `read` is called when the response headers have arrived. It reads as much of the body as it needs. */
export const exchange = async <Value>(
  { transport, address, requestTimeoutMs, proxy = null, clock, signals }: ExchangeOptions,
  read: (answer: TransportAnswer) => Promise<Value>,
): Promise<Exchanged<Value>> => {
  const stop = new AbortController()
  using _listening = onAbort(signals, (reason) => stop.abort(reason))
  let timeout: TransientError | null = null
  clock.sleep(requestTimeoutMs, stop.signal).then(
    () => {
      timeout = requestTimeout(peerOf(address, proxy), requestTimeoutMs)
      stop.abort(timeout)
    },
    () => undefined,
  )
  try {
    const value = await read(await transport.get(address, stop.signal))
    throwIfAnyAborted(signals)
    return { kind: 'answered', value }
  } catch (error) {
    throwIfAnyAborted(signals)
    if (error instanceof ProxyTroubleError || error instanceof ProxyRefusedError) {
      return { kind: 'broken', error, certainlyUnsent: error.certainlyUnsent }
    }
    if (error instanceof ExpectedError && error !== timeout) throw error
    if (timeout !== null) return { kind: 'broken', error: timeout, certainlyUnsent: false }
    const failure = connectionFailure(error)
    if (failure === null) throw error
    const { problem, certainlyUnsent } = failure
    return {
      kind: 'broken',
      error: connectionFailed(peerOf(address, proxy), problem, error),
      certainlyUnsent,
    }
  } finally {
    stop.abort(ENDED)
  }
}
