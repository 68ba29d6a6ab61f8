/**
 * Joins several abort signals into one. `AbortSignal.any` would do the same, but on Node 20 a long-lived source keeps every
 * joined signal reachable. A run of a night makes a hundred thousand of them.
 */
import { setMaxListeners } from 'node:events'
import { abortReason } from '../base/clock.js'

export interface JoinedSignal extends Disposable {
  readonly signal: AbortSignal
  /** Aborts the joined signal, not its sources. */
  abort(reason: Error): void
}

/** A controller whose signal takes any number of listeners. Node 20 reports more than ten as a leak. */
export const createSharedController = (): AbortController => {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

/** Aborts with the reason of the first source that aborts. Dispose it after use. */
export const joinSignals = (...sources: readonly AbortSignal[]): JoinedSignal => {
  const controller = new AbortController()
  const listeners = sources.map((source) => {
    const onAbort = () => controller.abort(abortReason(source))
    setMaxListeners(0, source)
    if (source.aborted) onAbort()
    else source.addEventListener('abort', onAbort, { once: true })
    return { source, onAbort }
  })
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]: () => {
      for (const { source, onAbort } of listeners) source.removeEventListener('abort', onAbort)
    },
  }
}

/** Settles as `promise` does, unless the signal aborts first: then it rejects with the signal's reason. */
export const orAbort = <Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> =>
  new Promise((resolve, reject) => {
    const onAbort = () => reject(abortReason(signal))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
