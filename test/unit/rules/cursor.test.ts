/** Tables for the cursor arithmetic. */
import { describe, expect, test } from 'vitest'
import { type Instant, instantToMs } from '../../../src/model/instant.js'
import type { ListingKind } from '../../../src/model/run.js'
import type { ListingState } from '../../../src/model/warehouse.js'
import {
  changesSince,
  firstPage,
  isCountDue,
  listingCeiling,
  listingKind,
  pageAfter,
} from '../../../src/rules/cursor.js'
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
      hasLeftOut: false,
      cursorDatedAt: null,
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
      hasLeftOut: false,
      cursorDatedAt: null,
    }
    const every = { ...rules, full_listing_every: days * 86_400_000 }
    expect(isCountDue(position, nowMs, every)).toBe(isDue)
    expect(listingKind(position, nowMs, every, false)).toBe(kind)
  })

  test('full when a survey answered 404 at its own address', () => {
    const lately = instantOf('2026-03-08T11:00:00Z')
    const position = {
      cursor,
      fullListedAt: lately,
      countedAt: lately,
      fullListingDue: true,
      hasLeftOut: false,
      cursorDatedAt: null,
    }
    expect(listingKind(position, nowMs, rules, false)).toBe('full')
  })
})

const interrupted = (kind: ListingKind, ceiling: string, nextPage = 5): ListingState => ({
  kind,
  updatedSince: null,
  ceiling: instantOf(ceiling),
  ceilingDatedAt: null,
  startedAt: instantOf(ceiling),
  nextPage,
  totalCount: 100,
  leastTotalCount: 100,
})

describe('changes are listed since', () => {
  const [early, late] = ['2026-03-01T00:00:00Z', '2026-03-07T00:00:00Z']
  test.each<[string, string | null, string | null, string | null]>([
    ['nothing before the first listing', null, null, null],
    ['the cursor', early, null, early],
    ['the cursor, during a full listing that began later', early, late, early],
    ['the ceiling of the first full listing until it ends', null, early, early],
    ['the ceiling, if a wrong clock set the cursor', late, early, early],
  ])('%s', (_, cursor, ceiling, since) => {
    const position = {
      ...{ cursor: cursor === null ? null : instantOf(cursor), fullListedAt: null, countedAt: null },
      fullListingDue: false,
      hasLeftOut: false,
      cursorDatedAt: null,
      listings: { full: ceiling === null ? null : interrupted('full', ceiling), incremental: null },
    }
    expect(changesSince(position)?.since ?? null).toBe(since === null ? null : instantOf(since))
  })
})

describe('a listing of an earlier run', () => {
  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [40, 39],
  ])('whose next page was %d goes on at page %d', (nextPage, page) => {
    expect(firstPage(interrupted('full', NOW, nextPage))).toBe(page)
  })

  test('that does not exist begins at page 1', () => {
    expect(firstPage(null)).toBe(1)
  })

  test.each<[string, number, number | null, number, number, number | null]>([
    ['as many surveys', 9, 10, 10, 0, 10],
    ['more surveys', 9, 10, 10, -3, 10],
    ['fewer, on the page that is read again', 9, 10, 10, 5, 10],
    ['fewer than two pages', 9, 10, 10, 6, 8],
    ['fewer, after a page that was new', 10, 11, 10, 1, 9],
    ['none on the page any more', 9, null, 10, 45, 1],
  ])('goes on after %s', (_, page, nextPage, frontier, gone, next) => {
    expect(pageAfter({ page, nextPage, rows: 5 }, frontier, gone)).toBe(next)
  })
})
