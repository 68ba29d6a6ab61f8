/**
 * The progress bar as a pure function: from a state and a width to one line of at most that width. Several accounts are
 * added up, and the accounts that wait or have failed are named.
 */
import { sum } from 'd3-array'
import { counted, humanCount, humanDuration, humanWindow } from '../base/human.js'
import type { Rate } from '../base/network.js'

/** The progress of a run. Accounts run side by side, each in its own phase. */
export interface BarState {
  /** What the run waits for before its first request; null if it does not wait. */
  readonly waiting: { readonly what: string; readonly forMs: number } | null
  /** The format that is being published; null before the first. */
  readonly format: string | null
  /** Every account of the run, in the order in which they first appeared. */
  readonly accounts: readonly AccountState[]
}

export interface AccountState extends Limits {
  readonly account: string
  readonly phase: 'starting' | 'listing' | 'refreshing' | 'ended' | 'failed'
  /** Committed pages of the listing, and all its pages; 0 = not known yet. */
  readonly page: number
  readonly pages: number
  readonly surveysListed: number
  /** Surveys refreshed or failed so far, and surveys still to be read. */
  readonly done: number
  readonly left: number
  readonly requestsLeft: number
  /** How long nothing has been listed or read, milliseconds. */
  readonly quietMs: number
}

/** The limits of an account's requests at a moment. */
export interface Limits {
  readonly slotsInUse: number
  readonly rate: Rate | null
  /** Why and for how long nothing is sent, milliseconds; null if requests are sent. */
  readonly wait:
    | { readonly why: 'refused' | 'cap' | 'retry'; readonly forMs: number }
    /** The API answers nothing, since `sinceMs`; the run waits for another `forMs`. */
    | { readonly why: 'outage'; readonly sinceMs: number; readonly forMs: number }
    | null
}

/** A shorter wait for the cap or a retry is not shown. */
const SHOWN_WAIT_MS_MIN = 2_000

const BAR_COLUMNS = 24

/** One line of at most `columns` characters. The least important parts are omitted first. */
export const renderBar = (state: BarState, columns: number): string => {
  const { format, waiting } = state
  if (format !== null) return fitted([`publishing ${format}`], columns)
  if (waiting !== null)
    return fitted([`waiting ${humanDuration(wholeSeconds(waiting.forMs))} for ${waiting.what}`], columns)
  const [only, ...more] = state.accounts
  if (only === undefined) return fitted(['starting'], columns)
  return more.length === 0 ? renderOne(only, columns) : renderSeveral(state.accounts, columns)
}

/** How long `requestsLeft` requests take at the cap: the free slots are used at once, and the rest is sent at the rate of the cap. */
export const etaMs = ({
  requestsLeft,
  slotsInUse,
  rate,
  wait,
}: Limits & Pick<AccountState, 'requestsLeft'>): number => {
  if (rate === null) return 0
  const waiting = Math.max(0, requestsLeft - Math.max(0, rate.requests - slotsInUse))
  return (waiting / rate.requests) * rate.perMs + (wait?.why === 'refused' ? wait.forMs : 0)
}

const renderOne = (account: AccountState, columns: number): string => {
  const { phase, wait, done, left } = account
  const isRefreshing = phase === 'refreshing'
  const stop = stopText(wait)
  return fitted(
    [
      stop === null ? phaseText(account) : `${phaseText(account)} | ${stop}`,
      stop === null && isRefreshing && left > 0 ? etaText(etaMs(account)) : null,
      quietText([account]),
      nextText([account]),
      requestsOf([account]),
      isRefreshing ? barText(done, left) : null,
    ],
    columns,
  )
}

/** Why nothing is sent. */
const stopText = (wait: Limits['wait']): string | null => {
  if (wait?.why === 'refused')
    return `waiting ${humanDuration(wholeSeconds(wait.forMs))}: the API asked to slow down`
  if (wait?.why !== 'outage') return null
  const [since, left] = [wait.sinceMs, wait.forMs].map((ms) => humanDuration(wholeSeconds(ms)))
  return `no answer for ${since}, waiting ${left} more`
}

const phaseText = ({ phase, page, pages, surveysListed, done, left }: AccountState): string => {
  if (phase === 'starting') return 'starting'
  if (phase !== 'listing') return refreshingText(done, left)
  const ofPages = pages > 0 ? ` of ${humanCount(Math.max(page, pages))}` : ''
  return `listing page ${humanCount(page)}${ofPages}, ${counted(surveysListed, 'survey')}`
}

/** Failed and waiting accounts come directly after the sum; the accounts that are done come after the remaining time. */
const renderSeveral = (accounts: readonly AccountState[], columns: number): string => {
  const inPhase = (...phases: readonly AccountState['phase'][]) =>
    accounts.filter(({ phase }) => phases.includes(phase))
  const [done, left] = [sum(accounts, (account) => account.done), sum(accounts, (account) => account.left)]
  const isListing = done + left === 0 && inPhase('starting', 'listing').length > 0
  const atWork = inPhase('refreshing')
  const longestMs = Math.max(0, ...atWork.map(etaMs))
  const listed = sum(accounts, ({ surveysListed }) => surveysListed)
  const head = isListing ? `listing, ${counted(listed, 'survey')}` : refreshingText(done, left)
  return fitted(
    [
      inPhase('starting').length === accounts.length ? 'starting' : head,
      namedText('failed', inPhase('failed')),
      waitingText(accounts, 'refused', '429'),
      waitingText(accounts, 'outage', 'no answer'),
      etaText(longestMs),
      quietText(accounts.filter(isAtWork)),
      nextText(accounts.filter(isAtWork)),
      `${humanCount(inPhase('ended', 'failed').length)}/${counted(accounts.length, 'account')} done`,
      requestsOf(accounts),
      isListing ? null : barText(done, left),
    ],
    columns,
  )
}

const NAMED_MAX = 2

const namedText = (what: string, accounts: readonly AccountState[]): string | null => {
  if (accounts.length === 0) return null
  return accounts.length > NAMED_MAX
    ? `${humanCount(accounts.length)} accounts ${what}`
    : `${accounts.map(({ account }) => account).join(', ')} ${what}`
}

const isAtWork = ({ phase }: Pick<AccountState, 'phase'>): boolean => phase !== 'ended' && phase !== 'failed'

/** What all accounts wait for; null if one of them is sending, or waits for the end of a pause. */
const nextText = (accounts: readonly AccountState[]): string | null => {
  const waits = accounts.flatMap(({ wait }) => (wait?.why === 'cap' || wait?.why === 'retry' ? [wait] : []))
  const [first] = waits.toSorted((a, b) => a.forMs - b.forMs)
  if (first === undefined || waits.length < accounts.length || first.forMs < SHOWN_WAIT_MS_MIN) return null
  return `waits ${humanDuration(wholeSeconds(first.forMs))} ${first.why === 'cap' ? 'for the cap' : 'to try again'}`
}

/** Says that a request hangs: nothing arrives, although there is no reason to wait. */
const quietText = (accounts: readonly AccountState[]): string | null => {
  const quietMs = Math.min(...accounts.map((account) => account.quietMs))
  const isWaiting =
    accounts.length > 0 && accounts.every(({ wait, phase }) => wait === null && isAtWork({ phase }))
  return isWaiting && quietMs >= SHOWN_WAIT_MS_MIN
    ? `no answer for ${humanDuration(wholeSeconds(quietMs))}`
    : null
}

const waitingText = (
  accounts: readonly AccountState[],
  why: 'refused' | 'outage',
  cause: string,
): string | null => {
  const waiting = accounts.filter((account) => account.wait?.why === why && isAtWork(account))
  const longestMs = Math.max(0, ...waiting.map(({ wait }) => wait?.forMs ?? 0))
  const verb = waiting.length === 1 ? 'waits' : 'wait'
  return namedText(`${verb} ${humanDuration(wholeSeconds(longestMs))} (${cause})`, waiting)
}

/** The requests and caps of all accounts together; null if their windows differ. */
const requestsOf = (accounts: readonly AccountState[]): string | null => {
  const rates = accounts.flatMap(({ rate }) => rate ?? [])
  const [perMs, ...more] = new Set(rates.map((rate) => rate.perMs))
  if (perMs === undefined || more.length > 0) return null
  const requests = sum(rates, (rate) => rate.requests)
  const inUse = sum(accounts, ({ slotsInUse }) => slotsInUse)
  return `${humanCount(inUse)}/${humanCount(requests)} requests/${humanWindow(perMs)}`
}

const refreshingText = (done: number, left: number): string =>
  `refreshing ${humanCount(done)}/${humanCount(done + left)} (${percent(done, left)}%)`

/** Null if no request has to wait for the cap, because then the time depends on the answers. */
const etaText = (ms: number): string | null =>
  ms > 0 ? `about ${humanDuration(wholeSeconds(ms))} left` : null

const barText = (done: number, left: number): string => {
  const filled = Math.floor((percent(done, left) / 100) * BAR_COLUMNS)
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR_COLUMNS - filled)}]`
}

/** Rounded down, so that 100 % appears only when nothing is left. */
const percent = (done: number, left: number): number =>
  done + left === 0 ? 100 : Math.floor((done / (done + left)) * 100)

const wholeSeconds = (durationMs: number): number => Math.ceil(durationMs / 1_000) * 1_000

/** The first parts that fit together. If even the first is too long, it is cut. */
const fitted = (parts: readonly (string | null)[], columns: number): string => {
  const kept = parts.filter((part) => part !== null)
  while (kept.length > 1 && kept.join(' | ').length > columns) kept.pop()
  const text = kept.join(' | ')
  if (text.length <= columns) return text
  return columns < 1 ? '' : `${text.slice(0, columns - 1)}…`
}
