/**
 * Somebody else who uses the same account: another program, a colleague. Such requests arrive evenly on real time, from
 * half a distance after the start on, whether or not ours do. The same window admits and counts them; one that finds no
 * room is lost. The request log leaves them out, because a test of a client's own pacing reads it.
 *
 * They are counted only when one of our requests arrives, because nobody needs them sooner. No window looks further back
 * than the span before the current one, so after a longer silence the older ones are skipped.
 */
import type { RateLimit, RateWindow } from './rate-window.js'

const WINDOWS_LOOKED_BACK = 2

/**
 * `window` with `load` requests per window of somebody else's from `startMs` on. They arrive on whole milliseconds after
 * it, so that each comes exactly a window after the one whose room it takes.
 */
export const withForeignLoad = (
  window: RateWindow,
  load: number,
  { perMs }: RateLimit,
  startMs: number,
): RateWindow => {
  let next = 0
  const arrivalMs = (place: number): number => startMs + Math.ceil(((place + 0.5) * perMs) / load)
  const catchUp = (nowMs: number): void => {
    const oldest = Math.floor(((nowMs - startMs - WINDOWS_LOOKED_BACK * perMs) * load) / perMs)
    next = Math.max(next, oldest)
    for (let atMs = arrivalMs(next); atMs <= nowMs; atMs = arrivalMs(next)) {
      if (window.opensAtMs(atMs) <= atMs) window.take(atMs)
      next += 1
    }
  }
  return {
    opensAtMs: (nowMs) => {
      catchUp(nowMs)
      return window.opensAtMs(nowMs)
    },
    take: (nowMs) => {
      catchUp(nowMs)
      window.take(nowMs)
    },
  }
}
