/**
 * How several accounts divide the requests of one budget: by weight. Requests that one account does not use go to those that
 * can use them. Pure; `request-budget` keeps the counts.
 */
import { sum } from '../../model/bundle-estimate.js'

/** What is known of one account. */
export interface AllocationState {
  /** The account is allocated its weight over the sum of all weights. */
  readonly weight: number
  /** Requests sent. */
  readonly sent: number
  /** Requests held for work under way. It gives back those that it does not need. */
  readonly reserved: number
  /** Requests that it waits for; null while it does not wait. */
  readonly waitsFor: number | null
  /** The number of requests that was granted to it beyond its allocation; 0 where none was. */
  readonly granted: number
  /** It will send no more. */
  readonly ended: boolean
}

/** The places of the waiting accounts that are decided; the others go on waiting. */
export interface Decision {
  /** These have room now. */
  readonly go: readonly number[]
  /** These will never have room. */
  readonly end: readonly number[]
  /** This one has room beyond its allocation. */
  readonly grant: number | null
}

/**
 * How many requests, sent and reserved, the account at `place` may have in all. At least its allocation of the total; more where
 * accounts have ended and left some; never more than the total leaves.
 */
export const limitOf = (total: number, states: readonly AllocationState[], place: number): number => {
  const own = states[place]
  if (own === undefined || own.ended) return usedBy(own)
  const active = states.filter(({ ended }) => !ended)
  const left = total - sum(states.filter(({ ended }) => ended).map(usedBy))
  const allocated = Math.max(
    (total * own.weight) / sum(states.map(weightOf)),
    (left * own.weight) / sum(active.map(weightOf)),
  )
  const room = total - sum(states.map(usedBy)) + usedBy(own)
  return Math.max(0, Math.min(room, Math.max(Math.floor(allocated + ROUNDING), own.granted)))
}

/** So that a third of 30 is 10. */
const ROUNDING = 1e-9

export const decide = (total: number, states: readonly AllocationState[]): Decision => {
  const waiting = states.flatMap(({ waitsFor }, place) => (waitsFor === null ? [] : [{ place, waitsFor }]))
  const needs = ({ place, waitsFor }: (typeof waiting)[number]) => usedBy(states[place]) + waitsFor
  const go = placesOf(waiting.filter((one) => needs(one) <= limitOf(total, states, one.place)))
  // Nobody knows yet how much those at work will need or give back.
  const isAtWork = states.some(
    ({ ended, waitsFor, reserved }) => reserved > 0 || (!ended && waitsFor === null),
  )
  if (go.length > 0 || isAtWork) return { go, end: [], grant: null }
  const left = total - sum(states.map(usedBy))
  const end = placesOf(waiting.filter(({ waitsFor }) => waitsFor > left))
  if (end.length > 0) return { go, end, grant: null }
  // Each fits into the rest, none into its allocation: the one that is furthest behind gets it.
  const behind = waiting.toSorted(
    (a, b) => needs(a) / weightOf(states[a.place]) - needs(b) / weightOf(states[b.place]),
  )
  return { go, end, grant: behind[0]?.place ?? null }
}

/** The allocation of each account whose need is known beforehand. No account gets less than its weight gives while it needs more. */
export const expectedAllocations = (
  total: number,
  needs: readonly { readonly weight: number; readonly needed: number }[],
): readonly number[] => {
  const fixed = new Map<number, number>()
  for (;;) {
    const open = needs.flatMap((one, place) => (fixed.has(place) ? [] : [{ ...one, place }]))
    const left = total - sum([...fixed.values()])
    const weights = sum(open.map(({ weight }) => weight))
    const allocated = (weight: number) => Math.floor((left * weight) / weights + ROUNDING)
    const modest = open.filter(({ weight, needed }) => needed <= allocated(weight))
    if (modest.length === 0) return needs.map(({ weight }, place) => fixed.get(place) ?? allocated(weight))
    for (const { place, needed } of modest) fixed.set(place, needed)
  }
}

const placesOf = (waiting: readonly { readonly place: number }[]): readonly number[] =>
  waiting.map(({ place }) => place)

const usedBy = (state: AllocationState | undefined): number =>
  state === undefined ? 0 : state.sent + state.reserved

const weightOf = (state: AllocationState | undefined): number => state?.weight ?? 0
