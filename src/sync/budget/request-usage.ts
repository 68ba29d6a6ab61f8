/** Counts where the requests of a run go: every one takes its leave here, retries included. */
import type { Allowance } from '../../base/allowance.js'
import type { RequestKind, RequestReason, RequestsByKind, RequestUsage } from '../../model/request-usage.js'
import { REQUEST_KINDS, REQUEST_REASONS } from '../../model/request-usage.js'

export interface UsageBook {
  /** Leave from `allowance`, counted as spent on that. */
  counting(allowance: Allowance, kind: RequestKind, reason: RequestReason): Allowance
  /** Requests that were not made. */
  saved(reason: RequestReason, requests: RequestsByKind): void
  /** What was spent or saved on anything, in the order of their names. */
  entries(): readonly RequestUsage[]
}

/** What one reason is charged. */
export interface ReasonBook {
  counting(allowance: Allowance, kind: RequestKind): Allowance
  saved(requests: RequestsByKind): void
}

export const bookFor = (book: UsageBook, reason: RequestReason): ReasonBook => ({
  counting: (allowance, kind) => book.counting(allowance, kind, reason),
  saved: (requests) => book.saved(reason, requests),
})

export const createUsageBook = (): UsageBook => {
  const counts = new Map<string, { requests: number; saved: number }>()
  const of = (kind: RequestKind, reason: RequestReason) => {
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
      for (const kind of REQUEST_KINDS) of(kind, reason).saved += requests[kind] ?? 0
    },
    entries: () =>
      REQUEST_REASONS.flatMap((reason) =>
        REQUEST_KINDS.flatMap((kind): readonly RequestUsage[] => {
          const { requests, saved } = of(kind, reason)
          return requests + saved === 0 ? [] : [{ kind, reason, requests, saved }]
        }),
      ),
  }
}
