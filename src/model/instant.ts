/**
 * Microseconds since 1970-01-01T00:00:00Z, as in a TIMESTAMPTZ column. A `Date` has no microseconds; a number is not exact after the year
 * 2255.
 */
export type Instant = bigint

const MICROS_PER_MS = 1_000n

export const instantFromMs = (ms: number): Instant => BigInt(Math.trunc(ms)) * MICROS_PER_MS

/** Milliseconds since the epoch, rounded down. */
export const instantToMs = (instant: Instant): number => Number(floorDivide(instant, MICROS_PER_MS))

export const minusMs = (instant: Instant, ms: number): Instant => instant - instantFromMs(ms)

/** How long from `earlier` to `later`, milliseconds; negative when `later` comes first. */
export const msBetween = (earlier: Instant, later: Instant): number => instantToMs(later - earlier)

const FORM =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?(?:(Z)|([+-])(\d{2}):?(\d{2})?)$/

/**
 * Reads an ISO 8601 date-time with a time-zone offset (API document, "Resources and their fields"). Digits past
 * the microsecond are cut off. Returns null for anything else: no offset, no such day, hour 24, second 60.
 */
export const parseInstant = (text: string): Instant | null => {
  const match = FORM.exec(text)
  if (match === null) return null
  const [, year, month, day, hour, minute, second = '0', fraction = '', ...offset] = match
  const [zulu, sign, offsetHour = '0', offsetMinute = '0'] = offset
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null
  if (zulu === undefined && (Number(offsetHour) > 23 || Number(offsetMinute) > 59)) return null
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null
  const localSeconds = date.getTime() / 1000 + Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  const offsetSeconds = (Number(offsetHour) * 3600 + Number(offsetMinute) * 60) * (sign === '-' ? -1 : 1)
  const micros = BigInt(fraction.slice(0, 6).padEnd(6, '0'))
  return BigInt(localSeconds - offsetSeconds) * 1_000_000n + micros
}

/** ISO 8601 in UTC, with as many digits of the second as needed: `2026-03-01T00:00:00Z`, `…00.123456Z`. */
export const formatInstant = (instant: Instant): string => {
  const seconds = floorDivide(instant, 1_000_000n)
  const micros = instant - seconds * 1_000_000n
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, -5)
  return micros === 0n ? `${whole}Z` : `${whole}.${String(micros).padStart(6, '0').replace(/0+$/, '')}Z`
}

const floorDivide = (value: bigint, divisor: bigint): bigint => {
  const quotient = value / divisor
  return value % divisor < 0n ? quotient - 1n : quotient
}
