/**
 * What the head of an answer says: the action for each status as a table, and the two headers with a time. The API document names only
 * 429; the rest follows HTTP. A status that is not in the table is a failure without a retry.
 */
type StatusAction =
  /** The body is the answer. */
  | 'parse'
  /** The rate cap is exceeded (API document, "Errors"): a pause, then the same request again. */
  | 'pause'
  /** A retry may succeed. */
  | 'retry'
  /** The credentials may not read this address; they may still read others. */
  | 'refuse_credentials'
  /** Credentials are never sent to the target of a redirect. */
  | 'refuse_redirect'
  /** The resource does not exist; the caller decides what follows. */
  | 'not_found'
  /** This request is wrong; others may succeed. */
  | 'reject'
  /** Not a status that this API gives. */
  | 'unknown'

const BY_STATUS: ReadonlyMap<number, StatusAction> = new Map<number, StatusAction>([
  [200, 'parse'],
  [401, 'refuse_credentials'],
  [403, 'refuse_credentials'],
  [404, 'not_found'],
  [408, 'retry'],
  [429, 'pause'],
])

const BY_CLASS: ReadonlyMap<number, StatusAction> = new Map<number, StatusAction>([
  [3, 'refuse_redirect'],
  [4, 'reject'],
  [5, 'retry'],
])

export const statusAction = (status: number): StatusAction =>
  BY_STATUS.get(status) ?? BY_CLASS.get(Math.floor(status / 100)) ?? 'unknown'

// `Retry-After` and `Date` are parsed strictly: a wrong date would pause a run for hours, or move a cursor past changes that were
// never read.

/** The only date format that HTTP allows a sender to use (RFC 9110, section 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

const WEEKDAY_LENGTH = 'Mon, '.length

/** Milliseconds since 1970 of an HTTP date; null if it is missing or invalid. */
export const parseHttpDate = (text: string | null): number | null => {
  if (text === null || !HTTP_DATE.test(text)) return null
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) return null
  // `Date.parse` reads 31 Feb as 3 Mar. A date is valid if formatting it gives the same text.
  return new Date(ms).toUTCString().slice(WEEKDAY_LENGTH) === text.slice(WEEKDAY_LENGTH) ? ms : null
}

/**
 * The wait that a `Retry-After` header requests, milliseconds; null if it is missing or unreadable. A date is relative to
 * `answeredAtMs`, the `Date` of the same answer, so that a wrong clock on either side cancels out.
 */
export const parseRetryAfter = (text: string | null, answeredAtMs: number): number | null => {
  if (text === null) return null
  if (/^\d{1,15}$/.test(text.trim())) return Number(text) * 1000
  const untilMs = parseHttpDate(text.trim())
  return untilMs === null ? null : Math.max(0, untilMs - answeredAtMs)
}
