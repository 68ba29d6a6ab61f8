/**
 * What a signal leaves of the time in which the command has to end. A run that it stopped still publishes what was
 * committed, and storage may be slow: whoever sent the signal kills after a while.
 */
import type { Clock } from '../../base/clock.js'
import { StoppedError } from '../../base/errors.js'

/** Of the ten seconds that the README promises; the rest is for recording how the run ended, and for closing the files. */
export const PUBLISH_AFTER_SIGNAL_MS_MAX = 8_000

export interface ShutdownDeadline extends Disposable {
  /** For work that begins now: aborts with `signal` or, where that has aborted already, when the time after it is over. */
  forWorkFromNow(): AbortSignal
}

/** Counts from the moment at which `signal` aborts. Dispose of it when the work is over: its timer holds the process. */
export const shutdownDeadlineAfter = (signal: AbortSignal, clock: Clock): ShutdownDeadline => {
  const ended = new AbortController()
  const over = new AbortController()
  const begin = async (): Promise<void> => {
    await clock.sleep(PUBLISH_AFTER_SIGNAL_MS_MAX, ended.signal)
    const seconds = PUBLISH_AFTER_SIGNAL_MS_MAX / 1_000
    over.abort(new StoppedError(`the ${seconds} s after a signal were over`))
  }
  // Rejects only because it was ended: nobody waits for it then.
  const onAbort = () => void begin().catch(() => undefined)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return {
    forWorkFromNow: () => (signal.aborted ? over.signal : signal),
    [Symbol.dispose]: () => {
      signal.removeEventListener('abort', onAbort)
      ended.abort()
    },
  }
}
