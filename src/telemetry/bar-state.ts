/**
 * What a run looks like from outside, summed over its accounts: fed by the events of `RunObserver`, read by the
 * bar of a terminal and by the sparse lines of a log.
 */
import type { RunObserver } from '../model/run.js'
import type { SourceUsage } from '../model/survey-source.js'

export interface BarState {
  readonly phase: 'starting' | 'listing' | 'refreshing' | 'publishing'
  /** Listing pages committed, and the pages there are; 0 = not known yet. */
  readonly page: number
  readonly pages: number
  readonly surveysListed: number
  /** Surveys refreshed or failed so far, and surveys still to do. */
  readonly done: number
  readonly left: number
  readonly requestsLeft: number
  /** What is being published; null before. */
  readonly format: string | null
  readonly slotsInUse: number
  readonly rate: { readonly requests: number; readonly perMs: number } | null
  /** How long all requests wait because the API asked to; null when they do not, milliseconds. */
  readonly frozenForMs: number | null
}

export interface BarStateSource extends RunObserver {
  phase(): BarState['phase']
  state(nowMs: number): BarState
}

type AccountState = Pick<BarState, 'page' | 'pages' | 'surveysListed' | 'done' | 'left' | 'requestsLeft'>

const NOTHING_YET: AccountState = { page: 0, pages: 0, surveysListed: 0, done: 0, left: 0, requestsLeft: 0 }

/** `usage` is asked for every account that an event has named. */
export const createBarState = (usage: (account: string) => SourceUsage | undefined): BarStateSource => {
  const accounts = new Map<string, AccountState>()
  let phase: BarState['phase'] = 'starting'
  let format: string | null = null
  const update = (account: string, news: Partial<AccountState>): void => {
    accounts.set(account, { ...(accounts.get(account) ?? NOTHING_YET), ...news })
  }
  return {
    listed: ({ account, page, pages, surveys }) => {
      phase = 'listing'
      update(account, { page, pages, surveysListed: surveys })
    },
    refreshed: ({ account, done, left, requestsLeft }) => {
      phase = 'refreshing'
      update(account, { done, left, requestsLeft })
    },
    publishing: (event) => {
      phase = 'publishing'
      format = event.format
    },
    phase: () => phase,
    state: (nowMs) => {
      const usages = [...accounts.keys()].flatMap((account) => usage(account) ?? [])
      return { phase, format, ...total([...accounts.values()]), ...usageOf(usages, nowMs) }
    },
  }
}

const total = (accounts: readonly AccountState[]): AccountState =>
  accounts.reduce(
    (sum, account) => ({
      page: sum.page + account.page,
      pages: sum.pages + account.pages,
      surveysListed: sum.surveysListed + account.surveysListed,
      done: sum.done + account.done,
      left: sum.left + account.left,
      requestsLeft: sum.requestsLeft + account.requestsLeft,
    }),
    NOTHING_YET,
  )

/** Several accounts have a limiter each: what they may send adds up, and the longest freeze is shown. */
const usageOf = (
  usages: readonly SourceUsage[],
  nowMs: number,
): Pick<BarState, 'slotsInUse' | 'rate' | 'frozenForMs'> => {
  const freezes = usages.flatMap(({ frozenUntilMs }) =>
    frozenUntilMs === null ? [] : [frozenUntilMs - nowMs],
  )
  const frozenForMs = Math.max(0, ...freezes)
  const [first] = usages
  return {
    slotsInUse: usages.reduce((total, { slotsInUse }) => total + slotsInUse, 0),
    rate:
      first === undefined
        ? null
        : { requests: usages.reduce((total, { rate }) => total + rate.requests, 0), perMs: first.rate.perMs },
    frozenForMs: frozenForMs === 0 ? null : frozenForMs,
  }
}
