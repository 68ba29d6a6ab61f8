/** Values that a service wrote, read without trusting them: JSON of unknown shape, and moments. */

export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Null for anything but a whole number. */
export const integerOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) ? value : null

/** Null for anything but text. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/**
 * A moment as the API writes it (API document, "Resources and their fields": ISO 8601 with a time-zone offset), as
 * microseconds in a bigint. In milliseconds two different moments could be equal, and a bound that a service keeps
 * would look broken.
 */
export interface Moment {
  /** Microseconds since 1970; further digits are cut off. */
  readonly micros: bigint
  /** Fractional digits of the second. */
  readonly digits: number
  /** As written: `Z`, `+02:00`. */
  readonly offset: string
}

const ISO_TIME =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,12}))?(Z|[+-]\d{2}(?::\d{2})?)$/

export const MICROS_PER_SECOND = 1_000_000n

/** Null for anything but a date-time with an offset on an existing day. */
export const parseMoment = (value: unknown): Moment | null => {
  const found = typeof value === 'string' ? ISO_TIME.exec(value) : null
  if (found === null) return null
  const [, year = '', month = '', day = '', hour = '', minute = '', second = '', fraction = '', offset = ''] =
    found
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  const localMs = Date.parse(`${local}Z`)
  if (Number.isNaN(localMs) || !new Date(localMs).toISOString().startsWith(local)) return null
  const offsetMinutes = minutesOf(offset)
  if (offsetMinutes === null) return null
  const micros =
    BigInt(localMs) * 1_000n +
    BigInt(fraction.slice(0, 6).padEnd(6, '0')) -
    BigInt(offsetMinutes) * 60n * MICROS_PER_SECOND
  return { micros, digits: fraction.length, offset }
}

const minutesOf = (offset: string): number | null => {
  if (offset === 'Z') return 0
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(4) || '0')]
  if (hours > 23 || minutes > 59) return null
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

/** In UTC, with 0, 3 or 6 fractional digits. */
export const formatMoment = (micros: bigint): string => `${local(micros)}Z`

/** The same moment with a time-zone offset, minutes east of UTC. */
export const formatWithOffset = (micros: bigint, offsetMinutes: number): string => {
  const size = Math.abs(offsetMinutes)
  const [hours, minutes] = [Math.floor(size / 60), size % 60].map((part) => String(part).padStart(2, '0'))
  return `${local(micros + BigInt(offsetMinutes) * 60n * MICROS_PER_SECOND)}${offsetMinutes < 0 ? '-' : '+'}${hours}:${minutes}`
}

const local = (micros: bigint): string => {
  const fraction = ((micros % MICROS_PER_SECOND) + MICROS_PER_SECOND) % MICROS_PER_SECOND
  const seconds = (micros - fraction) / MICROS_PER_SECOND
  const whole = new Date(Number(seconds) * 1_000).toISOString().slice(0, 19)
  if (fraction === 0n) return whole
  const digits = String(fraction).padStart(6, '0')
  return `${whole}.${digits.endsWith('000') ? digits.slice(0, 3) : digits}`
}

/** One unit of the last digit that the moment was written with, microseconds. */
export const stepOf = ({ digits }: Moment): bigint => 10n ** BigInt(6 - Math.min(6, digits))
