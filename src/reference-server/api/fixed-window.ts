/**
 * The simplest window: time is cut into spans of the window's length, and the count begins anew with each. A span that
 * lies across a border may hold nearly twice the cap, and a client that lives on that is refused by other services.
 */
import type { RateLimit, RateWindow } from './rate-window.js'

export const fixedWindow = ({ requests, perMs }: RateLimit): RateWindow => {
  let current = 0
  let accepted = 0
  const roll = (nowMs: number): void => {
    const place = Math.floor(nowMs / perMs)
    if (place === current) return
    current = place
    accepted = 0
  }
  return {
    opensAtMs: (nowMs) => {
      roll(nowMs)
      return accepted < requests ? nowMs : (current + 1) * perMs
    },
    take: (nowMs) => {
      roll(nowMs)
      accepted += 1
    },
  }
}
