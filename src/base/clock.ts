/**
 * Time as a dependency: everything that waits or reads the time gets a `Clock`, so that a test can simulate a whole
 * night without sleeping. The wall clock may jump (NTP, suspend). `monotonicMs` does not, so durations are measured on it.
 */
import { onAbort, throwIfAborted } from './signals.js'

export interface Clock {
  /** Wall clock, milliseconds since 1970-01-01T00:00:00Z. */
  nowMs(): number
  /** A clock that never goes back, milliseconds since an arbitrary start. */
  monotonicMs(): number
  /** Calls `act` after `durationMs`, unless the returned function is called before. */
  after(durationMs: number, act: () => void): () => void
}

export type Span = ReturnType<typeof startSpan>

/** A span of the wall clock. If the clock is put back, the end is counted from the start, so that no span ends before it began. */
export const startSpan = (clock: Clock) => {
  const [startedMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()]
  return {
    startedMs,
    endMs: (): number => Math.max(clock.nowMs(), startedMs + clock.monotonicMs() - monotonicMs),
  }
}

/** The longest wait that a Node timer supports; a timer with a longer wait would fire at once. */
const TIMER_MS_MAX = 2_147_483_647

export const systemClock: Clock = Object.freeze({
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (durationMs: number, act: () => void) => {
    const timer = setTimeout(act, Math.min(Math.max(0, durationMs), TIMER_MS_MAX))
    return () => clearTimeout(timer)
  },
})

/** Resolves after `durationMs`. When `signal` aborts, it rejects at once, with its reason. */
export const sleep = (clock: Clock, durationMs: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal === undefined) return void clock.after(durationMs, resolve)
    throwIfAborted(signal)
    const listening = onAbort([signal], (reason) => {
      cancel()
      reject(reason)
    })
    const cancel = clock.after(durationMs, () => {
      listening[Symbol.dispose]()
      resolve()
    })
  })
