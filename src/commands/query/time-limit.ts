/** How long a query may take, and how it ends at that time or at a signal. */
import { rmSync } from 'node:fs'
import { type Clock, systemClock } from '../../base/clock.js'
import { StoppedError } from '../../base/errors.js'
import { humanDuration } from '../../base/human.js'
import { joinSignals, onAbort } from '../../base/signals.js'
import { createTimeLimit } from '../../base/time-limit.js'
import { parseDuration } from '../../settings/readers.js'
import type { CliContext } from '../context.js'
import { usageError } from '../flags.js'

/** Null for no limit. Throws an error `usage`. */
export const durationOf = (text: string): number | null => {
  if (text === '0') return null
  const durationMs = parseDuration(text)
  if (durationMs !== null && durationMs > 0) return durationMs
  throw usageError(`--max-duration ${text} is not a duration, such as 60s or 5m, and not 0 for none`, 'query')
}

/**
 * A signal that also aborts after `durationMs`. DuckDB cannot be interrupted within one evaluation of an expression, which may take hours.
 * A query changes nothing but its `leftovers`, so the process removes them, and ends without waiting for the query. The time of `uncounted`
 * work does not count.
 */
export const limitedIn = (
  { signal, endNow, stderr }: Pick<CliContext, 'signal' | 'endNow' | 'stderr'>,
  durationMsMax: number | null,
  leftovers: readonly string[],
  clock: Clock = systemClock,
) => {
  const limit = createTimeLimit(clock)
  let leftMs = durationMsMax
  let stopCounting = (): void => undefined
  const count = (): void => {
    if (leftMs === null || durationMsMax === null) return
    const [beginLeftMs, beginMs] = [leftMs, clock.monotonicMs()]
    const cancel = clock.after(leftMs, () =>
      limit.end(
        new StoppedError(
          `the query was stopped after ${humanDuration(durationMsMax)}. Select less, or give it more time by --max-duration`,
        ),
      ),
    )
    stopCounting = () => {
      cancel()
      leftMs = Math.max(0, beginLeftMs - (clock.monotonicMs() - beginMs))
    }
  }
  count()
  const joined = joinSignals([signal, limit.signal])
  const listening = onAbort([joined.signal], ({ message }) =>
    limit.after(INTERRUPT_MS_MAX, () => {
      for (const path of leftovers) rmSync(path, { recursive: true, force: true })
      stderr.write(`fieldwork-sync: ${message}\n`)
      endNow()
    }),
  )
  return {
    signal: joined.signal,
    uncounted: async <Result>(work: () => Promise<Result>): Promise<Result> => {
      stopCounting()
      try {
        return await work()
      } finally {
        count()
      }
    },
    [Symbol.dispose]: () => {
      stopCounting()
      listening[Symbol.dispose]()
      joined[Symbol.dispose]()
      limit[Symbol.dispose]()
    },
  }
}

const INTERRUPT_MS_MAX = 1_000
