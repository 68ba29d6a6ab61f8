/**
 * Counts every request of a run by kind and reason, retries included
 * (docs/decisions/queue-and-refresh.md#0016-every-request-is-counted-under-a-reason).
 */
import type { Allowance } from '../../base/allowance.js'
import type { RequestKind, RequestReason, RequestsByKind, RequestUsage } from '../../model/request-usage.js'
import { REQUEST_KINDS, REQUEST_REASONS } from '../../model/request-usage.js'

export interface UsageBook {
  /** An allowance that takes from `allowance` and counts each request. */
  counting(allowance: Allowance, kind: RequestKind, reason: RequestReason): Allowance
  /** Counts requests that were not necessary. */
  saved(reason: RequestReason, requests: RequestsByKind): void
  /** The counts that are not zero, in the order of `REQUEST_REASONS` and `REQUEST_KINDS`. */
  entries(): readonly RequestUsage[]
}

/** Counts requests under one reason. */
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
  const entryOf = (kind: RequestKind, reason: RequestReason) => {
    const key = `${reason}/${kind}`
    const found = counts.get(key) ?? { requests: 0, saved: 0 }
    counts.set(key, found)
    return found
  }
  return {
    counting: (allowance, kind, reason) => ({
      take: () => {
        allowance.take()
        entryOf(kind, reason).requests += 1
      },
    }),
    saved: (reason, requests) => {
      for (const kind of REQUEST_KINDS) entryOf(kind, reason).saved += requests[kind] ?? 0
    },
    entries: () =>
      REQUEST_REASONS.flatMap((reason) =>
        REQUEST_KINDS.flatMap((kind): readonly RequestUsage[] => {
          const { requests, saved } = entryOf(kind, reason)
          return requests + saved === 0 ? [] : [{ kind, reason, requests, saved }]
        }),
      ),
  }
}
