/**
 * `Retry-After` and `Date`, the two headers that tell a time. Both are read strictly: a date that is understood
 * wrongly would pause a run for hours, or move a cursor past changes that were never read.
 */

/** Days, months and the rest of the one date format that HTTP allows to be sent (RFC 9110, section 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

const WEEKDAY_LENGTH = 'Mon, '.length

/** Milliseconds since 1970 of an HTTP date; null when it is missing or not one. */
export const parseHttpDate = (text: string | null): number | null => {
  if (text === null || !HTTP_DATE.test(text)) return null
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) return null
  // `Date.parse` takes 31 Feb for 3 Mar; a date that does not come back as it was is none.
  return new Date(ms).toUTCString().slice(WEEKDAY_LENGTH) === text.slice(WEEKDAY_LENGTH) ? ms : null
}

/**
 * How long a `Retry-After` header asks us to wait, milliseconds; null when it is missing or unreadable. A date
 * is relative to `answeredAtMs`, the `Date` of the same answer, so that a wrong clock on either side cancels out.
 */
export const parseRetryAfter = (text: string | null, answeredAtMs: number): number | null => {
  if (text === null) return null
  if (/^\d{1,15}$/.test(text.trim())) return Number(text) * 1000
  const untilMs = parseHttpDate(text.trim())
  return untilMs === null ? null : Math.max(0, untilMs - answeredAtMs)
}
