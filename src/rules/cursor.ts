/**
 * Cursor arithmetic. The next cursor is fixed before the first page is read
 * (docs/decisions/listing-and-cursor.md#0001-the-cursor-is-the-servers-time-less-an-overlap).
 */
import { type Instant, instantFromMs, minusMs } from '../model/instant.js'
import type { Cursor } from '../model/plan-facts.js'
import type { DiscoverRules, ListingKind } from '../model/run.js'
import type { ListingState } from '../model/warehouse.js'
import { ageMs, believed } from './believed.js'
import { EARLY_MS_MAX } from './refresh.js'

/** By how much our clock may be ahead of a server that does not send its time. */
const UNKNOWN_SERVER_TIME_MS = 5 * 60_000

/** An interrupted listing that started longer ago starts again. */
const RESUME_MS_MAX = 24 * 3_600_000

/** What the cursor becomes after a listing whose first page was answered at `serverDate`. */
export const listingCeiling = (serverDate: Instant | null, nowMs: number, rules: DiscoverRules): Instant =>
  minusMs(serverDate ?? instantFromMs(nowMs - UNKNOWN_SERVER_TIME_MS), rules.overlap)

/** After this time, a count no longer takes the place of a full listing, unless `full_listing_every` is longer. */
const COUNTS_MS_MAX = 28 * 86_400_000

/** A nightly run may list late. Without this tolerance, the run of the last night would find that the time has not passed. */
const hasPassed = (at: Instant | null, now: Instant, intervalMs: number): boolean =>
  ageMs(at, now) >= intervalMs - Math.min(EARLY_MS_MAX, intervalMs / 4)

/**
 * A listing is full if it is the first, if `--full` requests it, or if a survey returned 404 at its own address. By age, an incremental
 * one suffices if it is followed by a count of all surveys, for at most 28 days.
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

/** Whether the last full listing, and the last count that agreed, were `full_listing_every` ago. Only these show that a survey is gone. */
export const isCountDue = (
  { fullListedAt, countedAt }: Cursor,
  nowMs: number,
  { full_listing_every: everyMs }: DiscoverRules,
): boolean => {
  const now = instantFromMs(nowMs)
  return hasPassed(fullListedAt, now, everyMs) && hasPassed(countedAt, now, everyMs)
}

/** The interrupted listing to continue; null if it is too old or another kind is due. */
export const resumable = (
  listing: ListingState | null,
  kind: ListingKind,
  nowMs: number,
): ListingState | null => {
  const now = instantFromMs(nowMs)
  const startedAt = believed(listing?.startedAt ?? null, now)
  if (listing === null || startedAt === null || now - startedAt > instantFromMs(RESUME_MS_MAX)) return null
  return listing.kind === 'full' || kind === 'incremental' ? listing : null
}

/** A listing is resumed one page back: rows may have moved up meanwhile. */
export const firstPage = (listing: ListingState | null): number =>
  listing === null ? 1 : Math.max(1, listing.nextPage - 1)
