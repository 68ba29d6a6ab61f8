/** A limit of time for work, as a signal. */
import type { Clock } from './clock.js'

/** Dispose of it when the work has ended: its timers hold the process. */
export interface TimeLimit extends Disposable {
  /** Aborts with the first error given to `end`. */
  readonly signal: AbortSignal
  end(error: Error): void
  /** Calls `act` after `durationMs`, unless the work has ended by then. */
  after(durationMs: number, act: () => void): void
}

export const createTimeLimit = (clock: Clock): TimeLimit => {
  const passed = new AbortController()
  const cancels: (() => void)[] = []
  return {
    signal: passed.signal,
    end: (error) => passed.abort(error),
    after: (durationMs, act) => void cancels.push(clock.after(durationMs, act)),
    [Symbol.dispose]: () => {
      for (const cancel of cancels) cancel()
    },
  }
}
