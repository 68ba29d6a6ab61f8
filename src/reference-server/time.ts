/**
 * Moments and durations as text, and the world's clock. The world counts whole microseconds: `updated_since` includes its own
 * moment, so a lost digit would be a lost survey.
 */

/** Whole microseconds since 1970-01-01T00:00:00Z. Exact as a number until the year 2255. */
export type Micros = number

export const MICROS_PER_MS = 1_000
export const MICROS_PER_SECOND = 1_000_000
export const MICROS_PER_HOUR = 3_600 * MICROS_PER_SECOND
export const MICROS_PER_DAY = 24 * MICROS_PER_HOUR

/** How a record writes its moments (API document, "Resources and their fields": ISO 8601 with an offset). */
export interface TimeStyle {
  /** Minutes east of UTC; null writes `Z`. */
  readonly offsetMinutes: number | null
  /** Digits after the decimal point of the second. */
  readonly fractionDigits: 0 | 3 | 6
}

const DATE_TIME = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(:\d{2})?(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})$/

/**
 * Parses an ISO 8601 date-time with an offset; digits past the microsecond are cut off. Null for anything else: no
 * offset, no such day, hour 24, second 60.
 */
export const parseIsoTime = (text: string): Micros | null => {
  const match = DATE_TIME.exec(text)
  if (match === null) return null
  const [, toMinute = '', seconds = ':00', fraction = '', offset = 'Z'] = match
  if (match[2] === undefined && fraction !== '') return null
  const local = `${toMinute}${seconds}`
  const localMs = Date.parse(`${local}Z`)
  // A day that does not exist either fails to parse or rolls over into the next month. Both are refused here.
  if (Number.isNaN(localMs) || !new Date(localMs).toISOString().startsWith(local)) return null
  const atMs = Date.parse(`${local}${offset}`)
  if (Number.isNaN(atMs)) return null
  return atMs * MICROS_PER_MS + Number(fraction.slice(0, 6).padEnd(6, '0'))
}

/** Writes a moment in a record's style; digits beyond the style's are cut off. */
export const formatIsoTime = (at: Micros, { offsetMinutes, fractionDigits }: TimeStyle): string => {
  const shifted = at + (offsetMinutes ?? 0) * 60 * MICROS_PER_SECOND
  const seconds = Math.floor(shifted / MICROS_PER_SECOND)
  const whole = new Date(seconds * 1_000).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)
  if (fractionDigits === 0) return whole + formatOffset(offsetMinutes)
  const fraction = String(shifted - seconds * MICROS_PER_SECOND).padStart(6, '0')
  return `${whole}.${fraction.slice(0, fractionDigits)}${formatOffset(offsetMinutes)}`
}

const formatOffset = (offsetMinutes: number | null): string => {
  if (offsetMinutes === null) return 'Z'
  const size = Math.abs(offsetMinutes)
  const [hours, minutes] = [Math.floor(size / 60), size % 60].map((part) => String(part).padStart(2, '0'))
  return `${offsetMinutes < 0 ? '-' : '+'}${hours}:${minutes}`
}

/** Writes a moment in UTC with as many digits as it needs: `2026-03-01T00:00:00Z`, `…00.123456Z`. */
export const formatUtc = (at: Micros): string => {
  const fractionDigits = at % MICROS_PER_SECOND === 0 ? 0 : at % MICROS_PER_MS === 0 ? 3 : 6
  return formatIsoTime(at, { offsetMinutes: null, fractionDigits })
}

/** Writes a moment as an HTTP `Date` (IMF-fixdate, whole seconds, rounded down). */
export const formatHttpDate = (at: Micros): string => new Date(Math.floor(at / MICROS_PER_MS)).toUTCString()

const DURATION =
  /^P(?=\d|T\d)(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.(\d{1,6}))?S)?)?$/

/** Parses an ISO 8601 duration of weeks, days, hours, minutes and seconds as microseconds; null if it is none. */
export const parseIsoDuration = (text: string): Micros | null => {
  const match = DURATION.exec(text)
  if (match === null) return null
  const [, weeks = '0', days = '0', hours = '0', minutes = '0', seconds = '0', fraction = ''] = match
  const wholeSeconds =
    ((Number(weeks) * 7 + Number(days)) * 24 + Number(hours)) * 3_600 + Number(minutes) * 60 + Number(seconds)
  return wholeSeconds * MICROS_PER_SECOND + Number(fraction.padEnd(6, '0'))
}

/** The clock stops this long after its start, because the world of later times would not fit into memory. */
const CLOCK_YEARS_MAX = 20

/**
 * The clock that decides what the world shows. It stands still (`frozen`), runs with real time (`real`) or faster (`600x`), and can be
 * moved by hand. `factor` is world seconds per real second.
 */
export const createWorldClock = (startAt: Micros, factor: number) => {
  const earliest: Micros = 0
  const latest: Micros = startAt + CLOCK_YEARS_MAX * 366 * MICROS_PER_DAY
  let setTo = startAt
  let setAtMs = performance.now()
  return {
    earliest,
    latest,
    now: (): Micros =>
      Math.min(latest, setTo + Math.floor((performance.now() - setAtMs) * factor * MICROS_PER_MS)),
    /** Moves the clock forward or back. Returns false and moves nothing when `at` is out of its range. */
    set: (at: Micros): boolean => {
      if (at < earliest || at > latest) return false
      setTo = at
      setAtMs = performance.now()
      return true
    },
  }
}
