/** Every wait is finite, within its limit and never negative, for any header text and any order of refusals and successes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseHttpDate, parseRetryAfter } from '../../../src/http/attempt.js'
import { Pauses, RETRY_AFTER_MS_MAX } from '../../../src/http/rate-limit/rate-limiter.js'
import { retryWaitMs } from '../../../src/http/retry-wait.js'
import { anyText } from '../../support/hostile/any-text.js'
import { cases } from '../../support/suite/cases.js'

/** All values that the settings allow: see `limits.backoff_base`, `limits.backoff_max` and `rate_limit`. */
const backoff = fc
  .tuple(fc.integer({ min: 1, max: 60_000 }), fc.integer({ min: 1, max: 3_600_000 }))
  .map(([least, most]) => ({ backoff_base: least, backoff_max: Math.max(least, most) }))
const random = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 1, Number.MIN_VALUE))
const perMs = fc.oneof(fc.integer({ min: 1, max: 86_400_000 }), fc.constant(60_000))

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (value: number) => String(value).padStart(2, '0')
const httpDate = fc
  .tuple(
    fc.constantFrom(...DAYS),
    fc.integer({ min: 0, max: 32 }),
    fc.constantFrom(...MONTHS, 'Foo', 'jan'),
    fc.oneof(fc.integer({ min: 2025, max: 2027 }), fc.integer({ min: 0, max: 9999 })),
    fc.integer({ min: 0, max: 24 }),
    fc.integer({ min: 0, max: 60 }),
    fc.integer({ min: 0, max: 61 }),
    fc.constantFrom('GMT', 'GMT', 'GMT', 'UTC', 'CET', '+0100', ''),
  )
  .map(
    ([day, date, month, year, hour, minute, second, zone]) =>
      `${day}, ${two(date)} ${month} ${String(year).padStart(4, '0')} ${two(hour)}:${two(minute)}:${two(second)} ${zone}`,
  )
const anyHeader = fc.oneof(
  httpDate,
  anyText({ maxLength: 40 }),
  fc.nat({ max: 10_000 }).map(String),
  fc.bigInt({ min: -10n, max: 10n ** 20n }).map(String),
  fc.constantFrom('', ' 7 ', '\t5\t', '7, 8', ...'-1 1.5 1e3 +5 Infinity NaN 0 ٣ 0x10'.split(' ')),
  fc.constant('9'.repeat(400)),
)
/** A time of a `Date` header or a clock. */
const moment = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) })

test('the wait before another attempt stays within its limits', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2_000 }),
      backoff,
      random,
      fc.option(anyHeader),
      moment,
      (attempt, limits, chance, header, nowMs) => {
        const retryAfterMs = parseRetryAfter(header, nowMs)
        const waitMs = retryWaitMs(attempt, limits, chance, retryAfterMs)
        expect(Number.isSafeInteger(waitMs)).toBe(true)
        expect(waitMs).toBeGreaterThanOrEqual(Math.min(retryAfterMs ?? 0, limits.backoff_max))
        expect(waitMs).toBeLessThanOrEqual(limits.backoff_max)
        // Without a Retry-After the backoff alone sets the limit.
        if (retryAfterMs === null)
          expect(waitMs).toBeLessThanOrEqual(Math.ceil(limits.backoff_base * 2 ** (attempt - 1)))
      },
    ),
    cases(300),
  )
})

/** RFC 9110 by hand: a number of seconds, or a date in one format on an existing day. */
const slowRetryAfter = (text: string, answeredAtMs: number): number | null => {
  const trimmed = text.trim()
  if (/^[0-9]{1,15}$/.test(trimmed)) return Number(trimmed) * 1_000
  const found =
    /^([A-Z][a-z]{2}), ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT$/.exec(
      trimmed,
    )
  if (found === null) return null
  const [day, year, hour, minute, second] = [found[2], found[4], found[5], found[6], found[7]].map(Number)
  const month = MONTHS.indexOf(found[3] ?? '')
  if (month < 0 || hour === undefined || hour > 23 || Number(minute) > 59 || Number(second) > 59) return null
  // Years 0001 to 0099 are refused: they may come from a date format with years of two digits.
  if (Number(year) < 100) return null
  const date = new Date(0)
  date.setUTCFullYear(Number(year), month, Number(day))
  date.setUTCHours(hour, Number(minute), Number(second))
  return date.getUTCDate() === Number(day) ? Math.max(0, date.getTime() - answeredAtMs) : null
}

test('Retry-After is read as a number of seconds or a date relative to the Date of its answer, or ignored', () => {
  fc.assert(
    fc.property(anyHeader, moment, fc.integer({ min: -1e9, max: 1e9 }), (header, answeredAtMs, wrongByMs) => {
      const retryAfterMs = parseRetryAfter(header, answeredAtMs)
      expect(retryAfterMs).toBe(slowRetryAfter(header, answeredAtMs))
      if (retryAfterMs === null) return
      expect(retryAfterMs >= 0 && Number.isFinite(retryAfterMs)).toBe(true)
      // A server with a wrong clock is wrong in both headers, so the wait stays the same.
      const at = parseHttpDate(header.trim())
      if (at === null) expect(parseRetryAfter(header, answeredAtMs + wrongByMs)).toBe(retryAfterMs)
      else expect(retryAfterMs).toBe(Math.max(0, at - answeredAtMs))
    }),
    cases(300),
  )
})

test('an accepted Date header is of the years 100 to 9999 and prints as the same text again', () => {
  fc.assert(
    fc.property(anyHeader, (header) => {
      const ms = parseHttpDate(header)
      if (ms !== null) expect(new Date(ms).toUTCString().slice(5)).toBe(header.slice(5))
    }),
    cases(300),
  )
})

type Event =
  | { readonly kind: 'send' }
  | { readonly kind: 'good' | 'refused'; readonly nth: number; readonly retryAfterMs: number | null }

const retryAfterMs = fc.option(
  fc.oneof(
    fc.nat({ max: RETRY_AFTER_MS_MAX }),
    fc.constantFrom(0, 1, RETRY_AFTER_MS_MAX, RETRY_AFTER_MS_MAX + 1, 1e18),
  ),
)
const events: fc.Arbitrary<readonly Event[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant({ kind: 'send' } as const) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('refused' as const), nth: fc.nat(7), retryAfterMs }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('good' as const), nth: fc.nat(7), retryAfterMs }) },
  ),
  { maxLength: 40, size: 'max' },
)

/** Predicts the result of each answer by counting pauses. */
class Count {
  readonly #windowMs: number
  pauses = 0
  /** How many pauses came before the send of the last successful request. */
  #goodAfter = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  succeeded(sentAfter: number): void {
    this.#goodAfter = Math.max(this.#goodAfter, sentAfter)
  }

  rateLimited(sentAfter: number, retryAfterMs: number | null): ReturnType<Pauses['rateLimited']> {
    if (sentAfter < this.pauses) return { kind: 'join' }
    if (retryAfterMs !== null && retryAfterMs > RETRY_AFTER_MS_MAX) return { kind: 'retry_after_too_long' }
    this.pauses += 1
    const inARow = this.pauses - this.#goodAfter
    if (inARow >= 5) return { kind: 'end', pauses: inARow }
    const durationMs =
      retryAfterMs === null ? this.#windowMs * 2 ** (inARow - 1) : Math.max(1_000, retryAfterMs)
    return { kind: 'pause', durationMs }
  }
}

test('in any order of answers pauses stay within their limits, and five in a row end the run', () => {
  fc.assert(
    fc.property(events, perMs, (all, windowMs) => {
      const pauses = new Pauses(windowMs)
      const count = new Count(windowMs)
      const underWay: { readonly epoch: number; readonly sentAfter: number }[] = []
      for (const one of all) {
        if (one.kind === 'send') {
          underWay.push({ epoch: pauses.epoch, sentAfter: count.pauses })
          continue
        }
        const [answered] = underWay.splice(one.nth % Math.max(1, underWay.length), 1)
        if (answered === undefined) continue
        if (one.kind === 'good') {
          pauses.succeeded(answered.epoch)
          count.succeeded(answered.sentAfter)
          continue
        }
        const verdict = pauses.rateLimited(answered.epoch, one.retryAfterMs)
        expect(verdict).toEqual(count.rateLimited(answered.sentAfter, one.retryAfterMs))
        if (verdict.kind === 'pause')
          expect(verdict.durationMs).toBeLessThanOrEqual(Math.max(10 * windowMs, RETRY_AFTER_MS_MAX))
        else if (verdict.kind !== 'join') return
      }
    }),
    cases(300),
  )
})
