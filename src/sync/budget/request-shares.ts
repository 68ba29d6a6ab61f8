/**
 * How several accounts divide the requests of one budget: by weight, and what one of them leaves goes to those that can
 * use it. Pure; `request-pot` keeps the books.
 */
import { sum } from '../../model/bundle-estimate.js'

/** What is known of one account. */
export interface ShareState {
  /** Its part of the whole is its weight over the sum of all weights. */
  readonly weight: number
  /** Requests sent. */
  readonly sent: number
  /** Requests held for work under way; what it does not need of them it gives back. */
  readonly reserved: number
  /** Requests that it waits for room for; null while it does not wait. */
  readonly wanted: number | null
  /** Up to how many it may go beyond what its weight gives it; 0 where nothing was granted. */
  readonly granted: number
  /** It will send no more. */
  readonly ended: boolean
}

/** What becomes of accounts that wait, by their places; of the others that wait nothing is known yet. */
export interface Decision {
  /** There is room. */
  readonly go: readonly number[]
  /** There will be none. */
  readonly end: readonly number[]
  /** There is room beyond what the weight of this one gives it. */
  readonly grant: number | null
}

/**
 * How many requests the account at `place` may come to, sent and reserved. At least its share of the whole, and of what
 * those that have ended left its share among the others; but never more than is left of the whole.
 */
export const limitOf = (total: number, shares: readonly ShareState[], place: number): number => {
  const own = shares[place]
  if (own === undefined || own.ended) return usedBy(own)
  const active = shares.filter(({ ended }) => !ended)
  const left = total - sum(shares.filter(({ ended }) => ended).map(usedBy))
  const share = Math.max(
    (total * own.weight) / sum(shares.map(weightOf)),
    (left * own.weight) / sum(active.map(weightOf)),
  )
  const room = total - sum(shares.map(usedBy)) + usedBy(own)
  return Math.max(0, Math.min(room, Math.max(Math.floor(share + ROUNDING), own.granted)))
}

/** So that a third of 30 is 10. */
const ROUNDING = 1e-9

export const decide = (total: number, shares: readonly ShareState[]): Decision => {
  const waiting = shares.flatMap(({ wanted }, place) => (wanted === null ? [] : [{ place, wanted }]))
  const needs = ({ place, wanted }: (typeof waiting)[number]) => usedBy(shares[place]) + wanted
  const go = placesOf(waiting.filter((one) => needs(one) <= limitOf(total, shares, one.place)))
  // What those at work will need is not known, nor what they will give back.
  const isAtWork = shares.some(({ ended, wanted, reserved }) => reserved > 0 || (!ended && wanted === null))
  if (go.length > 0 || isAtWork) return { go, end: [], grant: null }
  const left = total - sum(shares.map(usedBy))
  const end = placesOf(waiting.filter(({ wanted }) => wanted > left))
  if (end.length > 0) return { go, end, grant: null }
  // Each would fit into what is left, though none into its share: it goes to the one that is furthest behind.
  const behind = waiting.toSorted(
    (a, b) => needs(a) / weightOf(shares[a.place]) - needs(b) / weightOf(shares[b.place]),
  )
  return { go, end, grant: behind[0]?.place ?? null }
}

/** What each will come to, of which it is known beforehand how many it wants: nobody gets less than its share while it wants more. */
export const expectedShares = (
  total: number,
  wants: readonly { readonly weight: number; readonly wanted: number }[],
): readonly number[] => {
  const fixed = new Map<number, number>()
  for (;;) {
    const open = wants.flatMap((one, place) => (fixed.has(place) ? [] : [{ ...one, place }]))
    const left = total - sum([...fixed.values()])
    const weights = sum(open.map(({ weight }) => weight))
    const shareOf = (weight: number) => Math.floor((left * weight) / weights + ROUNDING)
    const modest = open.filter(({ weight, wanted }) => wanted <= shareOf(weight))
    if (modest.length === 0) return wants.map(({ weight }, place) => fixed.get(place) ?? shareOf(weight))
    for (const { place, wanted } of modest) fixed.set(place, wanted)
  }
}

const placesOf = (waiting: readonly { readonly place: number }[]): readonly number[] =>
  waiting.map(({ place }) => place)

const usedBy = (share: ShareState | undefined): number =>
  share === undefined ? 0 : share.sent + share.reserved

const weightOf = (share: ShareState | undefined): number => share?.weight ?? 0
