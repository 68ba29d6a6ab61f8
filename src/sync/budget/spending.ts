/** Counts where the requests of a run go: every one takes its leave here, retries included. */
import type { Allowance } from '../../base/allowance.js'
import type { RequestsByKind, Spending, SpendingKind, SpendingReason } from '../../model/spending.js'
import { SPENDING_KINDS, SPENDING_REASONS } from '../../model/spending.js'

export interface SpendingBook {
  /** Leave from `allowance`, counted as spent on that. */
  counting(allowance: Allowance, kind: SpendingKind, reason: SpendingReason): Allowance
  /** Requests that were not made. */
  saved(reason: SpendingReason, requests: RequestsByKind): void
  /** What was spent or saved on anything, in the order of their names. */
  entries(): readonly Spending[]
}

/** What one reason is charged. */
export interface ReasonBook {
  counting(allowance: Allowance, kind: SpendingKind): Allowance
  saved(requests: RequestsByKind): void
}

export const bookFor = (book: SpendingBook, reason: SpendingReason): ReasonBook => ({
  counting: (allowance, kind) => book.counting(allowance, kind, reason),
  saved: (requests) => book.saved(reason, requests),
})

export const createSpendingBook = (): SpendingBook => {
  const counts = new Map<string, { requests: number; saved: number }>()
  const of = (kind: SpendingKind, reason: SpendingReason) => {
    const key = `${reason}/${kind}`
    const found = counts.get(key) ?? { requests: 0, saved: 0 }
    counts.set(key, found)
    return found
  }
  return {
    counting: (allowance, kind, reason) => ({
      take: () => {
        allowance.take()
        of(kind, reason).requests += 1
      },
    }),
    saved: (reason, requests) => {
      for (const kind of SPENDING_KINDS) of(kind, reason).saved += requests[kind] ?? 0
    },
    entries: () =>
      SPENDING_REASONS.flatMap((reason) =>
        SPENDING_KINDS.flatMap((kind): readonly Spending[] => {
          const { requests, saved } = of(kind, reason)
          return requests + saved === 0 ? [] : [{ kind, reason, requests, saved }]
        }),
      ),
  }
}
