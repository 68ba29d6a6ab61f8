/**
 * Reads the durations of settings and flags. A unit is required, because readers take `timeout: 30` for seconds, milliseconds
 * or minutes.
 */
import type { Rate } from '../base/network.js'

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const FORM = /^(\d{1,15})(ms|s|m|h|d)$/

/** The form of a duration, for messages: "must be …". */
export const DURATION_FORM = 'a duration: a whole number and a unit (ms, s, m, h or d), such as 30s'

/** `250ms`, `30s`, `5m`, `2h` or `7d` in milliseconds; null for anything else, a bare number included. */
export const parseDuration = (text: string): number | null => {
  const found = FORM.exec(text)
  if (found === null) return null
  const [, count, unit] = found
  const unitMs = Object.entries(UNIT_MS).find(([name]) => name === unit)?.[1]
  if (unitMs === undefined) return null
  const durationMs = Number(count) * unitMs
  return Number.isSafeInteger(durationMs) ? durationMs : null
}

/** `60/60s` as a rate; null for anything else. Does not check bounds. */
export const parseRate = (text: string): Rate | null => {
  const [requests = '', per = '', ...rest] = text.split('/')
  const perMs = parseDuration(per)
  if (rest.length > 0 || perMs === null || !/^\d{1,9}$/.test(requests)) return null
  return { requests: Number(requests), perMs }
}
