/** Limits the time of all reports about a run (metrics, pings, webhooks). After a signal the process must end before it is killed. */
import type { Clock } from '../base/clock.js'
import { StoppedError } from '../base/errors.js'

/** Without a signal. */
export const REPORT_MS_MAX = 10_000
/** A service that does not answer must not use up the time after a signal. */
const REPORT_AFTER_SIGNAL_MS_MAX = 3_000
/** A run ends within ten seconds of a signal (docs/how-to/limit-a-run.md). */
const END_AFTER_SIGNAL_MS = 9_500
/** Reports get this long even if the publish has used up the time. */
const REPORT_MS_MIN = 400

/** `sinceSignalMs` is null without a signal. */
export const reportMsMax = (sinceSignalMs: number | null): number =>
  sinceSignalMs === null
    ? REPORT_MS_MAX
    : Math.max(REPORT_MS_MIN, Math.min(REPORT_AFTER_SIGNAL_MS_MAX, END_AFTER_SIGNAL_MS - sinceSignalMs))

export interface ReportDeadline extends Disposable {
  readonly signal: AbortSignal
}

/** Dispose of it after the reports: its timer holds the process. */
export const reportDeadline = (clock: Clock, durationMs: number): ReportDeadline => {
  const passed = new AbortController()
  const ended = new AbortController()
  clock.sleep(durationMs, ended.signal).then(
    () => passed.abort(new StoppedError('the time for reports is up')),
    // It rejects only after disposal.
    () => undefined,
  )
  return { signal: passed.signal, [Symbol.dispose]: () => ended.abort() }
}
