/** The exact window: any span of the window's length holds at most the cap, wherever it begins. */
import type { RateLimit, RateWindow } from './rate-window.js'

/** Keeps the moments of the last accepted requests, as many as the cap, in a ring. */
export const slidingLog = ({ requests, perMs }: RateLimit): RateWindow => {
  const accepted = new Float64Array(requests).fill(Number.NEGATIVE_INFINITY)
  let oldest = 0
  return {
    opensAtMs: () => (accepted[oldest] ?? 0) + perMs,
    take: (nowMs) => {
      accepted[oldest] = nowMs
      oldest = (oldest + 1) % requests
    },
  }
}
