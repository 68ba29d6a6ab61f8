/**
 * The window of many proxies: two counters that stand for a sliding window. Time is cut as by `fixedWindow`; the
 * requests accepted in the span before are taken to be spread evenly, and count by the part of that span which a sliding
 * window would still cover. The sum, with the request that asks, must not exceed the cap.
 *
 * It errs both ways. A burst at the beginning of a span still counts in full where the next one begins, when the
 * sliding log has long forgotten it: a client that keeps to the cap in every window may be refused here. And a
 * burst at the end of a span is forgotten too soon.
 */
import type { RateLimit, RateWindow } from './rate-window.js'

export const slidingCounter = ({ requests, perMs }: RateLimit): RateWindow => {
  let current = 0
  let accepted = 0
  let acceptedBefore = 0
  const roll = (nowMs: number): void => {
    const place = Math.floor(nowMs / perMs)
    if (place === current) return
    acceptedBefore = place === current + 1 ? accepted : 0
    accepted = 0
    current = place
  }
  /** When, in the span that ends at `endMs`, a request finds room beside `now` of its own and `before` of the one before. */
  const opensIn = (endMs: number, now: number, before: number): number => {
    const room = requests - 1 - now
    return room >= before ? endMs - perMs : endMs - (room * perMs) / before
  }
  return {
    opensAtMs: (nowMs) => {
      roll(nowMs)
      const endMs = (current + 1) * perMs
      return accepted < requests
        ? opensIn(endMs, accepted, acceptedBefore)
        : opensIn(endMs + perMs, 0, accepted)
    },
    take: (nowMs) => {
      roll(nowMs)
      accepted += 1
    },
  }
}
