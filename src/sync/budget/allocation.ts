/**
 * Divides the requests of one budget among several accounts, by weight. Requests that one account does not use go to the
 * others (docs/decisions/accounts-and-budgets.md#0054-several-accounts-divide-one-request-budget). Pure; `request-budget` keeps the counts.
 */
import { sum } from '../../rules/estimate.js'

/** The state of one account. */
export interface AllocationState {
  /** The account's allocation is its weight over the sum of all weights. */
  readonly weight: number
  /** Requests sent. */
  readonly sent: number
  /** Requests reserved for work under way. The account gives back those that it does not need. */
  readonly reserved: number
  /** Requests that the account waits for; null while it does not wait. */
  readonly waitsFor: number | null
  /** A limit above its allocation that was granted to the account; 0 without a grant. */
  readonly granted: number
  /** The account sends no more requests. */
  readonly ended: boolean
}

/** Places of waiting accounts. An account that is in none of the fields goes on waiting. */
export interface Decision {
  /** Accounts that have room now. */
  readonly go: readonly number[]
  /** Accounts that will never have room. */
  readonly end: readonly number[]
  /** The account that gets room beyond its allocation. */
  readonly grant: number | null
}

/**
 * The most requests, sent and reserved, that the account at `place` may have. This is its allocation, or more after other
 * accounts have ended with unused requests. It is never more than what remains of the total.
 */
export const limitOf = (total: number, states: readonly AllocationState[], place: number): number => {
  const own = states[place]
  if (own === undefined || own.ended) return usedBy(own)
  const active = states.filter(({ ended }) => !ended)
  const remaining = total - sum(states.filter(({ ended }) => ended).map(usedBy))
  const allocated = Math.max(
    (total * own.weight) / sum(states.map(weightOf)),
    (remaining * own.weight) / sum(active.map(weightOf)),
  )
  const room = total - sum(states.map(usedBy)) + usedBy(own)
  return Math.max(0, Math.min(room, Math.max(Math.floor(allocated + ROUNDING), own.granted)))
}

/** Corrects floating point, so that a third of 30 is 10. */
const ROUNDING = 1e-9

export const decide = (total: number, states: readonly AllocationState[]): Decision => {
  const waiting = states.flatMap(({ waitsFor }, place) => (waitsFor === null ? [] : [{ place, waitsFor }]))
  const needs = ({ place, waitsFor }: (typeof waiting)[number]) => usedBy(states[place]) + waitsFor
  const go = placesOf(waiting.filter((one) => needs(one) <= limitOf(total, states, one.place)))
  // Accounts at work may need more requests, or give some back.
  const isAtWork = states.some(
    ({ ended, waitsFor, reserved }) => reserved > 0 || (!ended && waitsFor === null),
  )
  if (go.length > 0 || isAtWork) return { go, end: [], grant: null }
  const remaining = total - sum(states.map(usedBy))
  const end = placesOf(waiting.filter(({ waitsFor }) => waitsFor > remaining))
  if (end.length > 0) return { go, end, grant: null }
  // Each waiting account fits into the rest, but none into its allocation. The one furthest behind by weight gets its requests.
  const behind = waiting.toSorted(
    (a, b) => needs(a) / weightOf(states[a.place]) - needs(b) / weightOf(states[b.place]),
  )
  return { go, end, grant: behind[0]?.place ?? null }
}

/** The allocations for needs that are known beforehand. An account that needs more than its weight gives gets at least that. */
export const expectedAllocations = (
  total: number,
  needs: readonly { readonly weight: number; readonly needed: number }[],
): readonly number[] => {
  const fixed = new Map<number, number>()
  for (;;) {
    const open = needs.flatMap((one, place) => (fixed.has(place) ? [] : [{ ...one, place }]))
    const remaining = total - sum([...fixed.values()])
    const weights = sum(open.map(({ weight }) => weight))
    const allocated = (weight: number) => Math.floor((remaining * weight) / weights + ROUNDING)
    const fitting = open.filter(({ weight, needed }) => needed <= allocated(weight))
    if (fitting.length === 0) return needs.map(({ weight }, place) => fixed.get(place) ?? allocated(weight))
    for (const { place, needed } of fitting) fixed.set(place, needed)
  }
}

const placesOf = (waiting: readonly { readonly place: number }[]): readonly number[] =>
  waiting.map(({ place }) => place)

const usedBy = (state: AllocationState | undefined): number =>
  state === undefined ? 0 : state.sent + state.reserved

const weightOf = (state: AllocationState | undefined): number => state?.weight ?? 0
