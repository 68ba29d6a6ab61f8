/**
 * The progress of a run, account by account. The events of `RunObserver` update it. The progress bar and the progress lines
 * of the log read it. Accounts run side by side, each in its own phase.
 */
import type { Rate, RateUsage } from '../base/network.js'
import type { RunObserver } from '../model/run.js'

export interface BarState {
  /** The format that is being published; null before the first. */
  readonly format: string | null
  /** Every account of the run, in the order in which they first appeared. */
  readonly accounts: readonly AccountState[]
}

export interface AccountState {
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
  readonly slotsInUse: number
  readonly rate: Rate | null
  /** How long a 429 still pauses its requests, milliseconds; null without a pause. */
  readonly pausedForMs: number | null
}

interface BarStateSource extends RunObserver {
  state(nowMs: number): BarState
  /** The state of one account; null before its first event. */
  stateOf(account: string, nowMs: number): AccountState | null
}

type AccountProgress = Omit<AccountState, 'account' | 'slotsInUse' | 'rate' | 'pausedForMs'>

const NOTHING_YET: AccountProgress = {
  phase: 'starting',
  page: 0,
  pages: 0,
  surveysListed: 0,
  done: 0,
  left: 0,
  requestsLeft: 0,
}

/** `usage` returns the slots in use, rate and pause of an account. `names` are the accounts known before the first event. */
export const createBarState = (
  usage: (account: string) => RateUsage | undefined,
  names: readonly string[] = [],
): BarStateSource => {
  const accounts = new Map<string, AccountProgress>(names.map((name) => [name, NOTHING_YET]))
  let format: string | null = null
  const update = (account: string, change: Partial<AccountProgress>): void => {
    accounts.set(account, { ...(accounts.get(account) ?? NOTHING_YET), ...change })
  }
  const stateOf = (account: string, nowMs: number): AccountState | null => {
    const progress = accounts.get(account)
    if (progress === undefined) return null
    const { slotsInUse = 0, rate = null, pausedUntilMs = null } = usage(account) ?? {}
    const pausedForMs = pausedUntilMs === null || pausedUntilMs <= nowMs ? null : pausedUntilMs - nowMs
    return { account, ...progress, slotsInUse, rate, pausedForMs }
  }
  return {
    listed: ({ account, page, pages, surveys }) =>
      update(account, { phase: 'listing', page, pages, surveysListed: surveys }),
    refreshed: ({ account, done, left, requestsLeft }) =>
      update(account, { phase: 'refreshing', done, left, requestsLeft }),
    ended: ({ account, status }) => update(account, { phase: status === 'failed' ? 'failed' : 'ended' }),
    publishing: (event) => {
      format = event.format
    },
    stateOf,
    state: (nowMs) => ({
      format,
      accounts: [...accounts.keys()].flatMap((name) => stateOf(name, nowMs) ?? []),
    }),
  }
}
