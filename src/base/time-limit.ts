/** A limit of time for work, as a signal. */
import type { Clock } from './clock.js'

export type TimeLimit = ReturnType<typeof createTimeLimit>

/** Dispose of it when the work has ended: its timers hold the process. */
export const createTimeLimit = (clock: Clock) => {
  const passed = new AbortController()
  const cancels: (() => void)[] = []
  let hasEnded = false
  return {
    /** Aborts with the first error given to `end`. */
    signal: passed.signal,
    end: (error: Error): void => passed.abort(error),
    /** Calls `act` after `durationMs`, unless the work has ended by then. */
    after: (durationMs: number, act: () => void): void => {
      // A timer of work that has ended would hold the process for nothing.
      if (!hasEnded) cancels.push(clock.after(durationMs, act))
    },
    [Symbol.dispose]: (): void => {
      hasEnded = true
      for (const cancel of cancels) cancel()
    },
  }
}
