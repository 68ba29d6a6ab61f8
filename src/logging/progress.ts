/**
 * Shows the progress of a run: a bar on a terminal, otherwise a line in the log from time to time. Neither may keep the
 * process alive or outlive its run.
 */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { RateUsage } from '../base/network.js'
import type { RunObserver } from '../model/run.js'
import { createBarState } from './bar-state.js'
import { etaMs, renderBar } from './render-bar.js'
import type { StatusLine } from './status-line.js'

/** An observer that has to be disposed of at the end of the run. */
export type Progress = RunObserver & Disposable

/** The slots in use, rate and pause of an account; undefined while it has no limiter. */
export type UsageOf = (account: string) => RateUsage | undefined

export interface ProgressBarOptions {
  readonly line: StatusLine
  readonly clock: Clock
  readonly usage: UsageOf
  /** All accounts of the run. Without it, an account counts from its first event. */
  readonly accounts?: readonly string[]
  /** Width of the terminal, read at each redraw because it may change. */
  readonly columns: () => number | undefined
}

/** The bar is redrawn without events too, because countdowns and the rate window change with time. */
const TICK_MS = 500
/** Events within this time are drawn together. */
const REDRAW_MS_MIN = 100
const COLUMNS_DEFAULT = 80

/** Draws a bar on a terminal until it is closed. */
export const createProgressBar = (options: ProgressBarOptions): Progress => {
  const { line, clock, usage, accounts, columns } = options
  const bar = createBarState(usage, accounts)
  let drawnAtMs = Number.NEGATIVE_INFINITY
  let closed = false
  const draw = (): void => {
    if (closed) return
    drawnAtMs = clock.monotonicMs()
    // The last column stays free, because some terminals wrap as soon as it is filled.
    line.draw(renderBar(bar.state(clock.nowMs()), (columns() ?? COLUMNS_DEFAULT) - 1))
  }
  const thenDraw =
    <Event>(note: (event: Event) => void) =>
    (event: Event): void => {
      note(event)
      if (clock.monotonicMs() - drawnAtMs >= REDRAW_MS_MIN) draw()
    }
  const timer = setInterval(draw, TICK_MS).unref()
  return {
    listed: thenDraw(bar.listed),
    refreshed: thenDraw(bar.refreshed),
    ended: thenDraw(bar.ended),
    publishing: (event) => {
      bar.publishing(event)
      draw()
    },
    [Symbol.dispose]: () => {
      closed = true
      clearInterval(timer)
      line.erase()
    },
  }
}

export interface ProgressLogOptions {
  readonly log: Log
  readonly clock: Clock
  readonly usage: UsageOf
}

const LINE_MS_MIN = 30_000
const LINE_MS_MAX = 300_000

/** Without a terminal, logs one line per account for each 10 % of its surveys: at most every 30 s, at least every 5 min. */
export const createProgressLog = ({ log, clock, usage }: ProgressLogOptions): Progress => {
  const bar = createBarState(usage)
  const startedMs = clock.monotonicMs()
  const lastLines = new Map<string, { readonly atMs: number; readonly tenths: number }>()
  const isDue = (account: string, fraction: number, isNewPhase: boolean): boolean => {
    const last = lastLines.get(account) ?? { atMs: startedMs, tenths: 0 }
    const sinceMs = clock.monotonicMs() - last.atMs
    const tenths = Math.floor(fraction * 10)
    const lastTenths = isNewPhase ? 0 : last.tenths
    const due = sinceMs >= LINE_MS_MIN && (sinceMs >= LINE_MS_MAX || tenths > lastTenths)
    lastLines.set(account, due ? { atMs: last.atMs + sinceMs, tenths } : { ...last, tenths: lastTenths })
    return due
  }
  return {
    listed: (event) => {
      bar.listed(event)
      if (isDue(event.account, event.page / Math.max(1, event.pages), false))
        log.info({ ...event }, 'listing surveys')
    },
    refreshed: (event) => {
      const { account, done, left, requestsLeft } = event
      const wasListing = bar.stateOf(account, clock.nowMs())?.phase === 'listing'
      bar.refreshed(event)
      const state = bar.stateOf(account, clock.nowMs())
      if (state === null || !isDue(account, done / Math.max(1, done + left), wasListing)) return
      const eta_s = Math.ceil(etaMs(state) / 1_000)
      log.info({ account, done, left, requests_left: requestsLeft, eta_s }, 'refreshing surveys')
    },
    ended: (event) => bar.ended(event),
    publishing: (event) => log.info({ ...event }, 'publishing'),
    [Symbol.dispose]: () => undefined,
  }
}
