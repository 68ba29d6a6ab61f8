/** Interrupts statements when a signal aborts. */
import { throwIfAborted } from '../../base/clock.js'

/**
 * Runs `work`. After `signal` aborts, its statements are interrupted repeatedly until it ends, because DuckDB forgets an interrupt
 * that comes before a statement has begun.
 */
export const interrupted = async <Result>(
  interrupt: () => void,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> => {
  throwIfAborted(signal)
  let interval: NodeJS.Timeout | undefined
  const onAbort = () => {
    interrupt()
    interval = setInterval(interrupt, INTERRUPT_EVERY_MS)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await work()
  } finally {
    signal.removeEventListener('abort', onAbort)
    clearInterval(interval)
  }
}

const INTERRUPT_EVERY_MS = 20
