/**
 * Limits the time for publishing after a signal. A stopped run still publishes what was committed, but storage may be slow, and
 * the sender of the signal kills the process after a while.
 */
import type { Clock } from '../../base/clock.js'
import { StoppedError } from '../../base/errors.js'
import { createTimeLimit } from '../../base/time-limit.js'

/** A run ends within ten seconds (docs/how-to/limit-a-run.md). The rest of them is for recording how the run ended, and for closing the files. */
export const PUBLISH_AFTER_SIGNAL_MS_MAX = 8_000

export interface ShutdownDeadline extends Disposable {
  /** For work that begins now. Aborts with `signal`; if that has aborted already, when the deadline passes. */
  forWorkFromNow(): AbortSignal
}

/** The deadline counts from the moment at which `signal` aborts. Dispose of it after the work: its timer holds the process. */
export const shutdownDeadlineAfter = (signal: AbortSignal, clock: Clock): ShutdownDeadline => {
  const limit = createTimeLimit(clock)
  const onAbort = () =>
    limit.after(PUBLISH_AFTER_SIGNAL_MS_MAX, () =>
      limit.end(new StoppedError(`the shutdown deadline of ${PUBLISH_AFTER_SIGNAL_MS_MAX / 1_000} s passed`)),
    )
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return {
    forWorkFromNow: () => (signal.aborted ? limit.signal : signal),
    [Symbol.dispose]: () => {
      signal.removeEventListener('abort', onAbort)
      limit[Symbol.dispose]()
    },
  }
}
