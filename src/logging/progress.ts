/**
 * Shows the progress of a run: a bar on a terminal, otherwise a line in the log from time to time. Neither may keep the
 * process alive or outlive its run.
 */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { RateUsage } from '../base/network.js'
import type { RunObserver } from '../model/run.js'
import { type AccountState, etaMs, type Limits, renderBar } from './render-bar.js'
import type { StatusLine } from './stderr.js'

/** An observer to dispose of at the end of the run. */
export type Progress = RunObserver & Disposable

/** The slots in use, rate and pause of an account; undefined while it has no limiter. */
export type UsageOf = (account: string) => RateUsage | undefined

interface ProgressBarOptions {
  readonly line: StatusLine
  readonly clock: Clock
  readonly usage: UsageOf
  /** All accounts of the run. */
  readonly accounts: readonly string[]
  /** Width of the terminal, read at each redraw because it may change. */
  readonly columns: () => number | undefined
}

/** The bar is redrawn without events too, because countdowns and the rate window change with time. */
const TICK_MS = 500
/** Events within this time are drawn together. */
const REDRAW_MS_MIN = 100
const COLUMNS_DEFAULT = 80

/** `newsMs` is the monotonic time of the last event. */
type AccountProgress = Omit<AccountState, 'account' | 'quietMs' | keyof Limits> & { readonly newsMs: number }

const NOTHING_YET: Omit<AccountProgress, 'newsMs'> = {
  phase: 'starting',
  page: 0,
  pages: 0,
  surveysListed: 0,
  done: 0,
  left: 0,
  requestsLeft: 0,
}

/** Draws a bar on a terminal until it is closed. */
export const createProgressBar = (options: ProgressBarOptions): Progress => {
  const { line, clock, usage, columns } = options
  const begun: AccountProgress = { ...NOTHING_YET, newsMs: clock.monotonicMs() }
  const accounts = new Map(options.accounts.map((name) => [name, begun]))
  let format: string | null = null
  let waiting: { readonly what: string; readonly untilMs: number } | null = null
  let drawnAtMs = Number.NEGATIVE_INFINITY
  let closed = false
  const draw = (): void => {
    if (closed) return
    drawnAtMs = clock.monotonicMs()
    const states = [...accounts].map(([account, progress]) => ({
      account,
      ...progress,
      quietMs: drawnAtMs - progress.newsMs,
      ...limitsOf(usage(account), clock.nowMs()),
    }))
    // The last column stays free, because some terminals wrap as soon as it is filled.
    const leftMs = (waiting?.untilMs ?? 0) - clock.monotonicMs()
    const shown = waiting !== null && leftMs > 0 ? { what: waiting.what, forMs: leftMs } : null
    line.draw(renderBar({ format, waiting: shown, accounts: states }, (columns() || COLUMNS_DEFAULT) - 1))
  }
  const update = (account: string, change: Partial<Omit<AccountProgress, 'newsMs'>>): void => {
    waiting = null
    accounts.set(account, {
      ...(accounts.get(account) ?? begun),
      ...change,
      newsMs: clock.monotonicMs(),
    })
    if (clock.monotonicMs() - drawnAtMs >= REDRAW_MS_MIN) draw()
  }
  const timer = setInterval(draw, TICK_MS).unref()
  return {
    waiting: ({ what, forMs }) => {
      waiting = { what, untilMs: clock.monotonicMs() + forMs }
      draw()
    },
    listed: ({ account, page, pages, surveys }) =>
      update(account, { phase: 'listing', page, pages, surveysListed: surveys }),
    refreshed: ({ account, done, left, requestsLeft }) =>
      update(account, { phase: 'refreshing', done, left, requestsLeft }),
    ended: ({ account, status }) => update(account, { phase: status === 'failed' ? 'failed' : 'ended' }),
    publishing: (event) => {
      format = event.format
      draw()
    },
    [Symbol.dispose]: () => {
      closed = true
      clearInterval(timer)
      line.erase()
    },
  }
}

const limitsOf = (usage: RateUsage | undefined, nowMs: number): Limits => {
  if (usage === undefined) return { slotsInUse: 0, rate: null, wait: null }
  const { slotsInUse, rate, pausedUntilMs, slotFreeAtMs, retryAtMs, unanswered } = usage
  if (unanswered !== null) {
    const forMs = Math.max(0, unanswered.untilMs - nowMs)
    return { slotsInUse, rate, wait: { why: 'outage', sinceMs: nowMs - unanswered.sinceMs, forMs } }
  }
  const untilMs = { refused: pausedUntilMs, cap: slotFreeAtMs, retry: retryAtMs }
  const why = (['refused', 'cap', 'retry'] as const).find((reason) => (untilMs[reason] ?? 0) > nowMs)
  return { slotsInUse, rate, wait: why === undefined ? null : { why, forMs: (untilMs[why] ?? 0) - nowMs } }
}

type ProgressLogOptions = Pick<ProgressBarOptions, 'clock' | 'usage'> & { readonly log: Log }

const LINE_MS_MIN = 30_000
const LINE_MS_MAX = 300_000

/** Without a terminal, logs one line per account for each 10 % of its surveys: at most every 30 s, at least every 5 min. */
export const createProgressLog = ({ log, clock, usage }: ProgressLogOptions): Progress => {
  const listing = new Set<string>()
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
    // The code that makes a run wait logs the reason.
    waiting: () => undefined,
    listed: (event) => {
      listing.add(event.account)
      if (isDue(event.account, event.page / Math.max(1, event.pages), false))
        log.info({ ...event }, 'listing surveys')
    },
    refreshed: (event) => {
      const { account, done, left, requestsLeft } = event
      if (!isDue(account, done / Math.max(1, done + left), listing.delete(account))) return
      const eta_s = Math.ceil(etaMs({ requestsLeft, ...limitsOf(usage(account), clock.nowMs()) }) / 1_000)
      log.info({ account, done, left, requests_left: requestsLeft, eta_s }, 'refreshing surveys')
    },
    ended: () => undefined,
    publishing: (event) => log.info({ ...event }, 'publishing'),
    [Symbol.dispose]: () => undefined,
  }
}
