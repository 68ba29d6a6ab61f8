/** Tables for the cursor arithmetic. */
import { describe, expect, test } from 'vitest'
import { type Instant, instantToMs } from '../../../src/model/instant.js'
import type { ListingKind } from '../../../src/model/run.js'
import type { ListingState } from '../../../src/model/warehouse.js'
import { firstPage, isCountDue, listingCeiling, listingKind, resumable } from '../../../src/rules/cursor.js'
import { instantOf } from '../../support/time/instants.js'

const rules = { overlap: 5 * 60_000, full_listing_every: 7 * 86_400_000 }
const NOW = '2026-03-08T12:00:00Z'
const nowMs = instantToMs(instantOf(NOW))

describe('the next cursor', () => {
  test('is the server’s time at the first page less the overlap, regardless of our clock', () => {
    const serverDate = instantOf('2031-01-01T00:00:00.000007Z')
    expect(listingCeiling(serverDate, nowMs, rules)).toBe(instantOf('2030-12-31T23:55:00.000007Z'))
  })

  test('is our time less five minutes and the overlap if the server sends no Date', () => {
    expect(listingCeiling(null, nowMs, rules)).toBe(instantOf('2026-03-08T11:50:00Z'))
  })
})

describe('the next listing is', () => {
  const cursor = instantOf('2026-03-08T00:00:00Z')
  test.each<[ListingKind, string, Instant | null, string | null, boolean]>([
    ['full', 'the first time', null, null, false],
    ['full', 'when there is no cursor', null, '2026-03-08T11:00:00Z', false],
    ['full', 'when a full listing is requested', cursor, '2026-03-08T11:00:00Z', true],
    ['incremental', 'when the last full listing is recent', cursor, '2026-03-08T11:00:00Z', false],
    ['incremental', 'just before 28 days', cursor, '2026-02-08T18:00:00.000001Z', false],
    ['full', 'when 28 days have passed, up to six hours early', cursor, '2026-02-08T18:00:00Z', false],
    ['full', 'when the last full listing is ahead of our clock', cursor, '2026-04-01T00:00:00Z', false],
  ])('%s %s', (kind, _, cursorNow, fullListedAt, isRequested) => {
    const position = {
      cursor: cursorNow,
      fullListedAt: fullListedAt === null ? null : instantOf(fullListedAt),
      countedAt: null,
      fullListingDue: false,
    }
    expect(listingKind(position, nowMs, rules, isRequested)).toBe(kind)
  })

  test.each<[boolean, ListingKind, string, string, string | null, number]>([
    [true, 'incremental', 'when full_listing_every has passed', '2026-03-01T12:00:00Z', null, 7],
    [false, 'incremental', 'before it has', '2026-03-01T18:00:00.000001Z', null, 7],
    [
      false,
      'incremental',
      'while the last count is recent',
      '2026-02-09T00:00:00Z',
      '2026-03-02T00:00:00Z',
      7,
    ],
    [
      true,
      'incremental',
      'when the last count is old too',
      '2026-02-09T00:00:00Z',
      '2026-03-01T12:00:00Z',
      7,
    ],
    [true, 'incremental', 'after a count ahead of now', '2026-03-01T00:00:00Z', '2026-04-01T00:00:00Z', 7],
    [
      false,
      'full',
      'after a recent count, though the list is old',
      '2026-01-01T00:00:00Z',
      '2026-03-08T00:00:00Z',
      7,
    ],
    [false, 'incremental', 'with an interval of 60 days, after 59', '2026-01-08T13:00:00Z', null, 60],
    [true, 'full', 'with an interval of 60 days, after 60', '2026-01-07T12:00:00Z', null, 60],
    [
      true,
      'incremental',
      'with an interval of 0, each time',
      '2026-03-08T12:00:00Z',
      '2026-03-08T12:00:00Z',
      0,
    ],
  ])('followed by a count: %s (%s) %s', (isDue, kind, _, full, counted, days) => {
    const position = {
      cursor,
      fullListedAt: instantOf(full),
      countedAt: counted === null ? null : instantOf(counted),
      fullListingDue: false,
    }
    const every = { ...rules, full_listing_every: days * 86_400_000 }
    expect(isCountDue(position, nowMs, every)).toBe(isDue)
    expect(listingKind(position, nowMs, every, false)).toBe(kind)
  })

  test('full when a survey answered 404 at its own address', () => {
    const lately = instantOf('2026-03-08T11:00:00Z')
    const position = { cursor, fullListedAt: lately, countedAt: lately, fullListingDue: true }
    expect(listingKind(position, nowMs, rules, false)).toBe('full')
  })
})

const interrupted = (kind: ListingKind, startedAt: string, nextPage = 5): ListingState => ({
  kind,
  updatedSince: null,
  ceiling: instantOf(startedAt),
  startedAt: instantOf(startedAt),
  nextPage,
  totalCount: 100,
  firstTotalCount: 100,
})

describe('an interrupted listing', () => {
  test.each<[boolean, ListingKind, ListingKind, string, string]>([
    [true, 'full', 'full', 'the same kind, an hour old', '2026-03-08T11:00:00Z'],
    [true, 'full', 'incremental', 'a full listing also serves as an incremental one', '2026-03-08T11:00:00Z'],
    [true, 'incremental', 'incremental', 'the same kind, an hour old', '2026-03-08T11:00:00Z'],
    [false, 'incremental', 'full', 'an incremental one does not serve as a full one', '2026-03-08T11:00:00Z'],
    [true, 'full', 'full', 'the same kind, exactly a day old', '2026-03-07T12:00:00Z'],
    [false, 'full', 'full', 'the same kind, older than a day', '2026-03-07T11:59:59.999999Z'],
    [false, 'full', 'full', 'the same kind, begun ahead of our clock', '2026-04-01T00:00:00Z'],
  ])('is resumed (%s) if it is %s and a listing due is %s: %s', (isResumed, kind, due, _, startedAt) => {
    const listing = interrupted(kind, startedAt)
    expect(resumable(listing, due, nowMs)).toBe(isResumed ? listing : null)
  })

  test('that does not exist is not resumed', () => {
    expect(resumable(null, 'full', nowMs)).toBeNull()
  })

  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [40, 39],
  ])('whose next page was %d resumes at page %d', (nextPage, page) => {
    expect(firstPage(interrupted('full', NOW, nextPage))).toBe(page)
  })

  test('a new listing begins at page 1', () => {
    expect(firstPage(null)).toBe(1)
  })
})
