/**
 * Cursor arithmetic. The next cursor is fixed before the first page is read
 * (docs/decisions/listing-and-cursor.md#0001-the-cursor-is-the-servers-time-less-an-overlap).
 */
import { DAY_MS } from '../base/durations.js'
import { type Instant, instantFromMs, minusMs } from '../model/instant.js'
import type { Cursor } from '../model/plan-facts.js'
import type { DiscoverRules, ListingKind } from '../model/run.js'
import type { ListingState, Position } from '../model/warehouse.js'
import { ageMs } from './believed.js'
import { tolerant } from './refresh.js'

/** By how much our clock may be ahead of a server that does not send its time. */
const UNKNOWN_SERVER_TIME_MS = 5 * 60_000

/** The cursor after a listing whose first page was answered at `serverDate`. */
export const listingCeiling = (serverDate: Instant | null, nowMs: number, rules: DiscoverRules): Instant =>
  minusMs(serverDate ?? instantFromMs(nowMs - UNKNOWN_SERVER_TIME_MS), rules.overlap)

/** After this time, a count no longer replaces a full listing, unless `full_listing_every` is longer. */
const COUNTS_MS_MAX = 28 * DAY_MS

const hasPassed = (at: Instant | null, now: Instant, intervalMs: number): boolean =>
  ageMs(at, now) >= tolerant(intervalMs)

/**
 * A listing is full if it is the first, if `--full` requests it, or if a survey returned 404 at its own address. When a full listing is due
 * by its age, an incremental listing followed by a count of all surveys can replace it, for at most 28 days.
 */
export const listingKind = (
  position: Cursor,
  nowMs: number,
  rules: DiscoverRules,
  full: boolean,
): ListingKind => {
  const longestMs = Math.max(COUNTS_MS_MAX, rules.full_listing_every)
  const isTooOld = hasPassed(position.fullListedAt, instantFromMs(nowMs), longestMs)
  return full || position.cursor === null || position.fullListingDue || isTooOld ? 'full' : 'incremental'
}

/**
 * Whether the last full listing and the last count that agreed are both older than `full_listing_every`. Only a full listing or a count
 * shows that a survey is gone, or is back in a list that leaves surveys out.
 */
export const isCountDue = (
  { fullListedAt, countedAt, hasLeftOut }: Cursor,
  nowMs: number,
  { full_listing_every: everyMs }: DiscoverRules,
): boolean => {
  const now = instantFromMs(nowMs)
  return hasLeftOut || (hasPassed(fullListedAt, now, everyMs) && hasPassed(countedAt, now, everyMs))
}

/**
 * The time from which changes are listed: the cursor, or during the first full listing its ceiling. A cursor ahead of the ceiling was set
 * by a wrong clock. Null: nothing is listed yet.
 */
export const changesSince = ({ cursor, cursorDatedAt, listings: { full } }: Position): DatedCursor | null => {
  if (cursor !== null && (full === null || full.ceiling >= cursor))
    return { since: cursor, datedAt: cursorDatedAt }
  return full === null ? null : { since: full.ceiling, datedAt: full.ceilingDatedAt }
}

/** A time from which changes are listed, by the server's clock, and when it was fixed, by ours; null if unknown. */
export interface DatedCursor {
  readonly since: Instant
  readonly datedAt: Instant | null
}

/**
 * The time from which changes are listed instead of `cursor`; null if that is right. The server's time now (`at`), less the time that has
 * passed by our clock since the cursor was fixed, is when it was fixed. If the cursor is later, one of the clocks has moved since: the
 * server's may have been ahead when the cursor was fixed. If our clock has moved, too much is listed, once.
 */
export const earlierSince = (
  { since, datedAt }: DatedCursor,
  at: Instant,
  nowMs: number,
  rules: Pick<DiscoverRules, 'overlap'>,
): Instant | null => {
  if (datedAt === null) return null
  const fixedAt = at - (instantFromMs(nowMs) - datedAt)
  return since > fixedAt ? minusMs(fixedAt, rules.overlap) : null
}

/** A listing is resumed one page back: rows may have moved up meanwhile. */
export const firstPage = (listing: ListingState | null): number =>
  listing === null ? 1 : Math.max(1, listing.nextPage - 1)

/**
 * The page to read after `read` of a listing that an earlier run began. When a survey is gone, the later rows move up. So if the total has
 * become smaller by some rows, at most as many rows have moved to pages before `nextPage`, and the listing goes back to the page where the
 * first of them may be.
 */
export const pageAfter = (
  read: { readonly page: number; readonly nextPage: number | null; readonly rows: number },
  nextPage: number,
  rowsGone: number,
): number | null => {
  const earliest = Math.max(1, nextPage - Math.ceil(rowsGone / Math.max(1, read.rows)))
  return rowsGone > 0 && earliest < read.page ? earliest : read.nextPage
}
