/** Statements that a signal ends. */
import { throwIfAborted } from '../../base/clock.js'

/**
 * Runs `work`, and interrupts its statements from when `signal` aborts until it has ended: again and again, since
 * DuckDB forgets an interrupt that comes before the statement has begun. It rejects with what DuckDB says then.
 */
export const interrupted = async <Result>(
  interrupt: () => void,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> => {
  throwIfAborted(signal)
  let again: NodeJS.Timeout | undefined
  const onAbort = () => {
    interrupt()
    again = setInterval(interrupt, INTERRUPT_EVERY_MS)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await work()
  } finally {
    signal.removeEventListener('abort', onAbort)
    clearInterval(again)
  }
}

const INTERRUPT_EVERY_MS = 20
