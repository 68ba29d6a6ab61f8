/**
 * May a run send one more request, and for what? `--max-requests` is one counter for all accounts. An account may use its part of the
 * whole by weight, or of what ended accounts left, if that is more. Work that does not fit waits for requests that others leave
 * (docs/decisions/accounts-and-budgets.md#0054-several-accounts-divide-one-request-budget).
 */
import type { Allowance } from '../base/allowance.js'
import { StoppedError } from '../base/errors.js'
import { onAbort } from '../base/signals.js'
import {
  REQUEST_KINDS,
  REQUEST_REASONS,
  type RequestKind,
  type RequestReason,
  type RequestsByKind,
  type RequestUsage,
} from '../model/request-usage.js'
import { sum } from '../rules/estimate.js'

/** One account's part of the budget. Dispose of it when the account needs no more requests: other accounts may wait for them. */
export class Allocation implements Allowance, Disposable {
  readonly weight: number
  sent = 0
  /** For work under way. The account gives back those that it does not need. */
  reserved = 0
  /** Requests that the account waits for; null while it does not wait. */
  waitsFor: number | null = null
  /** A limit above its part that the account got; 0 without one. */
  granted = 0
  ended = false
  readonly #total: number
  /** All accounts of the run, this one among them. */
  readonly #all: readonly Allocation[]
  #end = () => {}
  readonly #hasEnded = new Promise<void>((resolve) => {
    this.#end = resolve
  })
  #resume: (hasRoom: boolean) => void = () => undefined

  /** Joins `all`, the allocations of a run, before any of them is used. A `total` of null is no limit. Weights are above 0. */
  constructor(total: number | null, weight = 1, all: Allocation[] = []) {
    this.#total = total ?? Number.POSITIVE_INFINITY
    this.weight = weight
    this.#all = all
    all.push(this)
  }

  /** Whether `requests` more fit now into `part` (0 to 1) of the account's limit. */
  fits(requests: number, part = 1): boolean {
    return used(this) + requests <= limitOf(this.#total, this.#all, this) * part
  }

  take(): void {
    if (!this.fits(1)) throw new StoppedError(`stopped by --max-requests ${this.#total}`)
    this.send(false)
  }

  /** Counts a request that is sent, whether it fits or not. `isReserved`: it had been reserved. */
  send(isReserved: boolean): void {
    this.sent += 1
    if (isReserved) this.reserved -= 1
  }

  /** Reserves requests. A negative number gives them back. Zero or less also says that a piece of work has ended. */
  reserve(requests: number): void {
    this.reserved += requests
    if (requests <= 0) this.#decide()
  }

  /** Waits until `requests` more may fit: check `fits` again. False when they will never fit, or when `signal` aborts. */
  room(requests: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false)
    return new Promise((resolve) => {
      const listening = onAbort([signal], () => {
        this.#endWait(false)
        this.#decide()
      })
      this.#resume = (hasRoom) => {
        listening[Symbol.dispose]()
        resolve(hasRoom)
      }
      this.waitsFor = requests
      this.#decide()
    })
  }

  /** Ends the account's part, and waits for the end of the others: what they leave is for whoever asks first. Without a limit nobody waits. */
  async allEnd(): Promise<void> {
    if (!Number.isFinite(this.#total)) return
    this[Symbol.dispose]()
    await Promise.all(this.#all.map((one) => one.#hasEnded))
  }

  /** The requests that no account has sent or reserved. */
  left(): number {
    return this.#total - sum(this.#all.map(used))
  }

  /** Whether other accounts may still leave unused requests. */
  mayGrow(): boolean {
    return Number.isFinite(this.#total) && this.#all.some((other) => other !== this && !other.ended)
  }

  [Symbol.dispose](): void {
    this.reserved = 0
    this.ended = true
    this.#end()
    this.#endWait(false)
    this.#decide()
  }

  #decide(): void {
    const { go, end } = decide(this.#total, this.#all)
    for (const account of go) {
      if (needs(account) > limitOf(this.#total, this.#all, account)) account.granted = needs(account)
      account.#endWait(true)
    }
    for (const account of end) account.#endWait(false)
  }

  #endWait(hasRoom: boolean): void {
    this.waitsFor = null
    this.#resume(hasRoom)
  }
}

type Account = Readonly<Pick<Allocation, 'weight' | 'sent' | 'reserved' | 'waitsFor' | 'granted' | 'ended'>>

const used = ({ sent, reserved }: Account): number => sent + reserved

const needs = (account: Account): number => used(account) + (account.waitsFor ?? 0)

/** The most requests, sent and reserved, that an account may have: never more than what remains of the total. */
export const limitOf = (total: number, accounts: readonly Account[], own: Account): number => {
  if (own.ended) return used(own)
  const part = (requests: number, among: readonly Account[]) =>
    (requests * own.weight) / sum(among.map(({ weight }) => weight))
  const left = total - sum(accounts.filter(({ ended }) => ended).map(used))
  const active = accounts.filter(({ ended }) => !ended)
  const allocated = Math.floor(Math.max(part(total, accounts), part(left, active)) + ROUNDING)
  const room = total - sum(accounts.map(used)) + used(own)
  return Math.max(0, Math.min(room, Math.max(allocated, own.granted)))
}

/** Corrects floating point, so that a third of 30 is 10. */
const ROUNDING = 1e-9

/** The waiting accounts that have room now, and those that will never have room. The others go on waiting. */
export const decide = <One extends Account>(
  total: number,
  accounts: readonly One[],
): { readonly go: readonly One[]; readonly end: readonly One[] } => {
  const waiting = accounts.filter(({ waitsFor }) => waitsFor !== null)
  const go = waiting.filter((one) => needs(one) <= limitOf(total, accounts, one))
  // Accounts at work may need more requests, or give some back.
  const isAtWork = accounts.some(
    ({ ended, waitsFor, reserved }) => reserved > 0 || (!ended && waitsFor === null),
  )
  if (go.length > 0 || isAtWork) return { go, end: [] }
  const remaining = total - sum(accounts.map(used))
  const end = waiting.filter(({ waitsFor }) => (waitsFor ?? 0) > remaining)
  if (end.length > 0) return { go, end }
  // Each waiting account fits into the rest, but none into its part. The one furthest behind by weight gets its requests.
  const behind = waiting.toSorted((a, b) => needs(a) / a.weight - needs(b) / b.weight)
  return { go: behind.slice(0, 1), end }
}

/** The allocations for needs that are known beforehand. An account that needs more than its weight gives gets at least that. */
export const expectedAllocations = (
  total: number,
  accounts: readonly { readonly weight: number; readonly needed: number }[],
): readonly number[] => {
  const fixed = new Map<number, number>()
  for (;;) {
    const open = accounts.flatMap((one, place) => (fixed.has(place) ? [] : [{ ...one, place }]))
    const remaining = total - sum([...fixed.values()])
    const weights = sum(open.map(({ weight }) => weight))
    const allocated = (weight: number) => Math.floor((remaining * weight) / weights + ROUNDING)
    const fitting = open.filter(({ weight, needed }) => needed <= allocated(weight))
    if (fitting.length === 0)
      return accounts.map(({ weight }, place) => fixed.get(place) ?? allocated(weight))
    for (const { place, needed } of fitting) fixed.set(place, needed)
  }
}

/**
 * Counts every request of a run by kind and reason, retries included
 * (docs/decisions/queue-and-refresh.md#0016-every-request-is-counted-under-a-reason).
 */
export class UsageBook {
  readonly #counts = new Map<string, { requests: number; saved: number }>()

  counting(allowance: Allowance, kind: RequestKind, reason: RequestReason): Allowance {
    return {
      take: () => {
        allowance.take()
        this.#of(kind, reason).requests += 1
      },
    }
  }

  saved(reason: RequestReason, requests: RequestsByKind): void {
    for (const kind of REQUEST_KINDS) this.#of(kind, reason).saved += requests[kind] ?? 0
  }

  /** The counts that are not zero, in the order of `REQUEST_REASONS` and `REQUEST_KINDS`. */
  entries(): readonly RequestUsage[] {
    return REQUEST_REASONS.flatMap((reason) =>
      REQUEST_KINDS.map((kind) => ({ kind, reason, ...this.#of(kind, reason) })),
    ).filter(({ requests, saved }) => requests + saved > 0)
  }

  #of(kind: RequestKind, reason: RequestReason) {
    const key = `${reason}/${kind}`
    const found = this.#counts.get(key) ?? { requests: 0, saved: 0 }
    this.#counts.set(key, found)
    return found
  }
}
