/**
 * Abort signals of several sources. With `AbortSignal.any`, a long-lived source keeps every joined signal reachable on Node 20, and a
 * run of a night makes a hundred thousand of them.
 */
import { setMaxListeners } from 'node:events'
import { abortReason, throwIfAborted } from './clock.js'

/**
 * Calls `listener` with the reason when one of the sources aborts, or at once if one has aborted. Dispose it after use. A source may have
 * any number of listeners: Node 20 reports more than ten as a leak.
 */
export const onAbort = (sources: readonly AbortSignal[], listener: (reason: Error) => void): Disposable => {
  const onEvent = ({ target }: Event) => {
    if (target instanceof AbortSignal) listener(abortReason(target))
  }
  for (const source of sources) {
    setMaxListeners(0, source)
    if (source.aborted) listener(abortReason(source))
    else source.addEventListener('abort', onEvent, { once: true })
  }
  return {
    [Symbol.dispose]: () => {
      for (const source of sources) source.removeEventListener('abort', onEvent)
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
