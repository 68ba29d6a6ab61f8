/**
 * Abort signals of several sources. With `AbortSignal.any`, a long-lived source keeps every joined signal reachable on Node 20, and a
 * nightly run joins signals a hundred thousand times.
 */
import { setMaxListeners } from 'node:events'
import { StoppedError } from './errors.js'

/** The reason why `signal` aborted, always an `Error`. */
export const abortReason = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new StoppedError('stopped')

export const throwIfAborted = (signal: AbortSignal): void => {
  if (signal.aborted) throw abortReason(signal)
}

type Listener = (reason: Error) => void

/** We add one listener to each signal, and it calls all of ours: Node searches the listeners of a signal one by one. */
const listenersOf = new WeakMap<AbortSignal, Set<Listener>>()

const listenTo = (signal: AbortSignal): Set<Listener> => {
  const listeners = new Set<Listener>()
  listenersOf.set(signal, listeners)
  // Libraries listen as well. Node 20 reports more than ten as a leak.
  setMaxListeners(0, signal)
  const callAll = () => {
    for (const listener of listeners) listener(abortReason(signal))
  }
  signal.addEventListener('abort', callAll, { once: true })
  return listeners
}

/** Calls `listener` with the reason when one of the sources aborts, or at once if one has aborted. Dispose it after use. */
export const onAbort = (sources: readonly AbortSignal[], listener: Listener): Disposable => {
  // Sets compare by identity, and one function may listen twice.
  const own: Listener = (reason) => listener(reason)
  for (const source of sources) {
    if (source.aborted) listener(abortReason(source))
    else (listenersOf.get(source) ?? listenTo(source)).add(own)
  }
  return {
    [Symbol.dispose]: () => {
      for (const source of sources) listenersOf.get(source)?.delete(own)
    },
  }
}

/** The result of `work`, or a rejection with the reason as soon as `signal` aborts. `work` itself may go on. */
export const unlessAborted = <Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> =>
  new Promise((resolve, reject) => {
    const listening = onAbort([signal], reject)
    work.then(resolve, reject).finally(() => listening[Symbol.dispose]())
  })

/** Aborts with the reason of the first source that aborts. Dispose it after use. */
export const joinSignals = (
  sources: readonly AbortSignal[],
): Disposable & { readonly signal: AbortSignal } => {
  const controller = new AbortController()
  const listening = onAbort(sources, (reason) => controller.abort(reason))
  return { signal: controller.signal, [Symbol.dispose]: () => listening[Symbol.dispose]() }
}

export const throwIfAnyAborted = (signals: readonly AbortSignal[]): void => {
  for (const signal of signals) throwIfAborted(signal)
}
