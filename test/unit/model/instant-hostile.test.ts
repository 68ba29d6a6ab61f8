/**
 * Instants are read as by a slow reference reader, for any text. Cursors stay behind the server, for any `Date` and any
 * order of interruptions.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseHttpDate } from '../../../src/http/attempt.js'
import {
  formatInstant,
  instantFromMs,
  instantToMs,
  msBetween,
  parseInstant,
} from '../../../src/model/instant.js'
import type { ListingState, Position } from '../../../src/model/warehouse.js'
import { firstPage, listingCeiling, listingKind, resumable } from '../../../src/rules/cursor.js'
import { DEFAULT_WEIGHTS, refreshReason, refreshWeight } from '../../../src/rules/refresh.js'
import { anyText } from '../../support/hostile/any-text.js'
import { anyTime, slowInstant } from '../../support/hostile/odd-times.js'
import { DEFAULTS } from '../../support/settings/settings-from-yaml.js'
import { CASES_TIMEOUT_MS, cases, property } from '../../support/suite/cases.js'

const text = fc.oneof(
  { weight: 9, arbitrary: anyTime },
  anyText({ maxLength: 40 }),
  anyTime.chain((time) =>
    fc.nat({ max: time.length }).map((cut) => `${time.slice(0, cut)}${time.slice(cut + 1)}`),
  ),
  fc.tuple(anyTime, anyTime).map((times) => times.join('')),
)

test('any text is read as by the slow reference reader, to the microsecond', {
  timeout: CASES_TIMEOUT_MS,
}, () => {
  let read = 0
  fc.assert(
    fc.property(text, (one) => {
      const instant = parseInstant(one)
      expect(instant).toBe(slowInstant(one))
      if (instant !== null) read += 1
    }),
    cases(300),
  )
  expect(read).toBeGreaterThan(50)
})

const DAY_MS = 86_400_000
const YEAR_0 = slowInstant('0000-01-02T00:00:00Z') ?? 0n
const YEAR_9999 = slowInstant('9999-12-30T23:59:59Z') ?? 0n
const instant = fc.bigInt({ min: YEAR_0, max: YEAR_9999 })
/** Of the years in which this runs, at any rate. */
const nowMs = fc.oneof(
  fc.integer({ min: 0, max: Date.UTC(2100, 0) }),
  fc.double({ min: 0, max: 4e12, noNaN: true }),
)
/** All values that the settings allow. */
const rules = fc.record({
  overlap: fc.integer({ min: 0, max: 30 * DAY_MS }),
  full_listing_every: fc.integer({ min: 1, max: 365 * DAY_MS }),
})
const [min, max] = [new Date('0100-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59Z')]
const header = fc.oneof(
  fc.date({ min, max, noInvalidDate: true }).map((date) => date.toUTCString()),
  fc.string({ maxLength: 30 }),
  fc.constant(null),
)

property(
  'the next cursor is the Date of the first page less the overlap, for any header, and prints as text',
  [header, nowMs, rules],
  cases(300),
  (date, now, given) => {
    const dateMs = parseHttpDate(date)
    const serverDate = dateMs === null ? null : instantFromMs(dateMs)
    const ceiling = listingCeiling(serverDate, now, given)
    if (serverDate === null) expect(ceiling).toBe(BigInt(Math.trunc(now - 300_000) - given.overlap) * 1_000n)
    else expect(ceiling).toBe((BigInt(dateMs ?? 0) - BigInt(given.overlap)) * 1_000n)
    expect(ceiling).toBeLessThanOrEqual(serverDate ?? instantFromMs(now))
    expect(parseInstant(formatInstant(ceiling))).toBe(ceiling)
  },
)

const listing: fc.Arbitrary<ListingState> = fc.record({
  kind: fc.constantFrom('full' as const, 'incremental' as const),
  updatedSince: fc.option(instant),
  ceiling: instant,
  startedAt: instant,
  nextPage: fc.integer({ min: 0, max: 100_000 }),
  totalCount: fc.nat(),
  firstTotalCount: fc.option(fc.nat()),
})
const position: fc.Arbitrary<Position> = fc.record({
  cursor: fc.option(instant),
  fullListedAt: fc.option(instant),
  fullListingDue: fc.boolean(),
  listing: fc.option(listing),
})

property(
  'a resumed listing keeps its ceiling, is at most a day old and skips no page',
  [position, nowMs, rules, fc.boolean()],
  cases(300),
  (where, now, given, full) => {
    const kind = listingKind(where, now, given, full)
    const { cursor, fullListedAt, fullListingDue } = where
    if (full || fullListingDue || cursor === null || fullListedAt === null) expect(kind).toBe('full')
    else if (fullListedAt > BigInt(Math.trunc(now)) * 1_000n) expect(kind).toBe('full')
    else {
      const isOld = now - Number(fullListedAt / 1_000n) >= given.full_listing_every + 2
      const isYoung = now - Number(fullListedAt / 1_000n) <= given.full_listing_every - 2
      if (isOld) expect(kind).toBe('full')
      if (isYoung) expect(kind).toBe('incremental')
    }
    const resumed = resumable(where.listing, kind, now)
    const page = firstPage(resumed)
    expect(page).toBeGreaterThanOrEqual(1)
    if (resumed === null) {
      expect(page).toBe(1)
      return
    }
    // It keeps its ceiling, because the pages read before the interruption are as of then.
    expect(resumed).toBe(where.listing)
    expect(page).toBeLessThanOrEqual(Math.max(1, resumed.nextPage))
    expect(kind === 'full' && resumed.kind === 'incremental').toBe(false)
    expect(now - Number(resumed.startedAt / 1_000n)).toBeLessThan(DAY_MS + 2)
  },
)

property(
  'milliseconds of instants are rounded down and keep order and distance',
  [instant, instant],
  cases(300),
  (one, other) => {
    const ms = instantToMs(one)
    expect(Number.isSafeInteger(ms)).toBe(true)
    const rest = one - BigInt(ms) * 1_000n
    expect(rest >= 0n && rest < 1_000n).toBe(true)
    if (one <= other) expect(instantToMs(other)).toBeGreaterThanOrEqual(ms)
    const left = other - one - BigInt(msBetween(one, other)) * 1_000n
    expect(left >= 0n && left < 1_000n).toBe(true)
  },
)

const survey = fc.record({
  id: fc.nat(),
  status: fc.oneof(
    fc.constantFrom('draft', 'pending', 'fieldwork', 'complete', 'user_demo', '__proto__', ''),
    fc.string(),
  ),
  updatedAt: instant,
  refreshedAt: fc.option(instant),
  progressChangedAt: fc.option(instant),
  missing: fc.boolean(),
})

const refreshRules = { ...DEFAULTS.refresh, settle_for: 7 * DAY_MS, recheck_unchanged_after: DAY_MS }

property(
  'every active or new survey is due, for any status and any time',
  [survey, instant],
  cases(300),
  (facts, now) => {
    const reason = refreshReason(facts, now, refreshRules)
    const isQuiet = ['draft', 'user_demo', 'complete'].includes(facts.status)
    if (facts.missing) expect(reason).toBeNull()
    else if (facts.refreshedAt === null || facts.refreshedAt > now) expect(reason).toBe('changed')
    else if (!isQuiet) expect(reason).toBe('active')
    else if (facts.status !== 'complete') expect(reason).toBeNull()
    else expect(reason).toBe(now - facts.updatedAt < 604_800_000_000n - 999n ? 'settling' : reason)
    expect([1, 2, 4]).toContain(refreshWeight(facts.status, DEFAULT_WEIGHTS))
  },
)
