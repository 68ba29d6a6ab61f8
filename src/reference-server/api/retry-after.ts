/**
 * The header `Retry-After` of an answer 429. The API document leaves it open ("Errors"), HTTP allows two forms (RFC 9110,
 * section 10.2.3), and many services send none.
 */
import { formatHttpDate, MICROS_PER_MS, MICROS_PER_SECOND, type Micros } from '../time/iso-time.js'

/** `seconds`: how long to wait; `date`: until when, relative to the `Date` of the same answer; `none`: no header. */
export const RETRY_AFTER_STYLES = ['seconds', 'date', 'none'] as const

export type RetryAfterStyle = (typeof RETRY_AFTER_STYLES)[number]

/**
 * The headers that ask for a wait of `waitMs`. Both forms have whole seconds, rounded up, so that waiting suffices. `at`
 * is the world's time in the answer's `Date`. The wait is real time, however fast the world's clock goes: a client waits
 * for the difference of the two dates.
 */
export const retryAfterHeaders = (
  style: RetryAfterStyle,
  waitMs: number,
  at: Micros,
): Readonly<Record<string, string>> => {
  if (style === 'none') return {}
  if (style === 'seconds') return { 'retry-after': String(Math.ceil(waitMs / 1_000)) }
  const until = Math.ceil((at + waitMs * MICROS_PER_MS) / MICROS_PER_SECOND) * MICROS_PER_SECOND
  return { 'retry-after': formatHttpDate(until) }
}
