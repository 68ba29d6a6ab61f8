/**
 * Time as a dependency: everything that waits or reads the time gets a `Clock`, so that a test can simulate a whole
 * night without sleeping. The wall clock may jump (NTP, suspend). `monotonicMs` does not, so durations are measured on it.
 */
import { StoppedError } from './errors.js'

export interface Clock {
  /** Wall clock, milliseconds since 1970-01-01T00:00:00Z. */
  nowMs(): number
  /** A clock that never goes back, milliseconds since an arbitrary start. */
  monotonicMs(): number
  /**
   * Resolves after `durationMs`. When `signal` aborts, it clears its timer and rejects at once: with the signal's
   * `reason` if that is an `Error`, otherwise with a `StoppedError`.
   */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void>
}

export interface Span {
  /** Wall clock. */
  readonly startedMs: number
  /** Wall clock. If that was put back since, the end is counted from the start, so that nothing ends before it began. */
  endMs(): number
}

export const startSpan = (clock: Clock): Span => {
  const [startedMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()]
  return { startedMs, endMs: () => Math.max(clock.nowMs(), startedMs + clock.monotonicMs() - monotonicMs) }
}

/** The longest wait that a Node timer supports; a timer with a longer wait would fire at once. */
const TIMER_MS_MAX = 2_147_483_647

export const systemClock: Clock = Object.freeze({
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (durationMs: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(abortReason(signal))
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal === undefined ? new StoppedError('stopped') : abortReason(signal))
      }
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        },
        Math.min(Math.max(0, durationMs), TIMER_MS_MAX),
      )
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
})

/** The reason why `signal` aborted, always an `Error`. */
export const abortReason = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new StoppedError('stopped')

export const throwIfAborted = (signal: AbortSignal): void => {
  if (signal.aborted) throw abortReason(signal)
}
