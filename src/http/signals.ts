/**
 * Several reasons to stop, joined into one signal. `AbortSignal.any` would do the same, but keeps every joined
 * signal reachable from a long-lived source on Node 20: a run of a night makes a hundred thousand of them.
 */
import { setMaxListeners } from 'node:events'
import { abortReason } from '../base/clock.js'

export interface JoinedSignal extends Disposable {
  readonly signal: AbortSignal
  /** Aborts the joined signal alone; the sources do not notice. */
  abort(reason: Error): void
}

/** A controller whose signal any number of requests may listen to; Node 20 takes more than ten for a leak. */
export const createSharedController = (): AbortController => {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

/** Aborts with the reason of the first source that does. Dispose it when the work is over. */
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

/** `promise`, or a rejection with the signal's reason as soon as it aborts, whichever is first. */
export const orAbort = <Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> =>
  new Promise((resolve, reject) => {
    const onAbort = () => reject(abortReason(signal))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
