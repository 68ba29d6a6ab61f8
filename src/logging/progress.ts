/**
 * A run as it goes, for whoever watches: a bar that redraws itself on a terminal, now and then a line in the log
 * elsewhere. Neither may keep the process alive or outlive its run.
 */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { RunObserver } from '../model/run.js'
import type { SourceUsage } from '../model/survey-source.js'
import { createBarState } from './bar-state.js'
import { etaMs, renderBar } from './render-bar.js'
import type { StatusLine } from './status-line.js'

/** An observer with something to put away at the end: `close()` or `using`. */
export interface Progress extends RunObserver, Disposable {
  close(): void
}

/** What the limiter of an account has used; undefined while the account has none. */
export type UsageOf = (account: string) => SourceUsage | undefined

export interface ProgressBarOptions {
  readonly line: StatusLine
  readonly clock: Clock
  readonly usage: UsageOf
  /** The accounts of the run, so that those which say nothing are counted; only those that do unless given. */
  readonly accounts?: readonly string[]
  /** Width of the terminal, asked for at each redraw: it may be resized. */
  readonly columns: () => number | undefined
  /** Calls `tick` again and again until the returned function is called; a timer that is unref'ed unless said. */
  readonly every?: (intervalMs: number, tick: () => void) => () => void
}

/** Countdowns and the rate window move without events. */
const TICK_MS = 500
/** Events closer together than this are drawn together. */
const REDRAW_MS_MIN = 100
const COLUMNS_DEFAULT = 80

/** A bar on a terminal, from now until it is closed. */
export const createProgressBar = (options: ProgressBarOptions): Progress => {
  const { line, clock, usage, accounts, columns, every = everyUnreferenced } = options
  const bar = createBarState(usage, accounts)
  let drawnAtMs = Number.NEGATIVE_INFINITY
  let closed = false
  const draw = (): void => {
    if (closed) return
    drawnAtMs = clock.monotonicMs()
    // The last column stays free: some terminals wrap as soon as it is written to.
    line.draw(renderBar(bar.state(clock.nowMs()), (columns() ?? COLUMNS_DEFAULT) - 1))
  }
  const thenDraw =
    <Event>(note: (event: Event) => void) =>
    (event: Event): void => {
      note(event)
      if (clock.monotonicMs() - drawnAtMs >= REDRAW_MS_MIN) draw()
    }
  const stop = every(TICK_MS, draw)
  const close = (): void => {
    closed = true
    stop()
    line.erase()
  }
  return {
    listed: thenDraw(bar.listed),
    refreshed: thenDraw(bar.refreshed),
    ended: thenDraw(bar.ended),
    publishing: (event) => {
      bar.publishing(event)
      draw()
    },
    close,
    [Symbol.dispose]: close,
  }
}

const everyUnreferenced = (intervalMs: number, tick: () => void): (() => void) => {
  const timer = setInterval(tick, intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}

export interface ProgressLogOptions {
  readonly log: Log
  readonly clock: Clock
  readonly usage: UsageOf
}

const LINE_MS_MIN = 30_000
const LINE_MS_MAX = 300_000

/** Where there is no terminal: a line an account each 10 % of its surveys, but not within 30 s, and after 5 min anyway. */
export const createProgressLog = ({ log, clock, usage }: ProgressLogOptions): Progress => {
  const bar = createBarState(usage)
  const startedMs = clock.monotonicMs()
  const said = new Map<string, { readonly atMs: number; readonly tenths: number }>()
  const isDue = (account: string, fraction: number, isNewPhase: boolean): boolean => {
    const last = said.get(account) ?? { atMs: startedMs, tenths: 0 }
    const sinceMs = clock.monotonicMs() - last.atMs
    const tenths = Math.floor(fraction * 10)
    const saidTenths = isNewPhase ? 0 : last.tenths
    const due = sinceMs >= LINE_MS_MIN && (sinceMs >= LINE_MS_MAX || tenths > saidTenths)
    said.set(account, due ? { atMs: last.atMs + sinceMs, tenths } : { ...last, tenths: saidTenths })
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
      const wasListing = bar.of(account, clock.nowMs())?.phase === 'listing'
      bar.refreshed(event)
      const state = bar.of(account, clock.nowMs())
      if (state === null || !isDue(account, done / Math.max(1, done + left), wasListing)) return
      const eta_s = Math.ceil(etaMs(state) / 1_000)
      log.info({ account, done, left, requests_left: requestsLeft, eta_s }, 'refreshing surveys')
    },
    ended: (event) => bar.ended(event),
    publishing: (event) => log.info({ ...event }, 'publishing'),
    close: () => undefined,
    [Symbol.dispose]: () => undefined,
  }
}
