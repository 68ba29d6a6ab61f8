/**
 * Cursor arithmetic. The next cursor is fixed before the first page is read
 * (docs/decisions/listing-and-cursor.md#0001-the-cursor-is-the-servers-time-less-an-overlap).
 */
import { type Instant, instantFromMs, minusMs } from '../model/instant.js'
import type { Cursor } from '../model/plan-facts.js'
import type { DiscoverRules, ListingKind } from '../model/run.js'
import type { ListingState } from '../model/warehouse.js'
import { ageMs, believed } from './believed.js'

/** By how much our clock may be ahead of a server that does not send its time. */
const UNKNOWN_SERVER_TIME_MS = 5 * 60_000

/** An interrupted listing that started longer ago starts again. */
const RESUME_MS_MAX = 24 * 3_600_000

/** What the cursor becomes after a listing whose first page was answered at `serverDate`. */
export const listingCeiling = (serverDate: Instant | null, nowMs: number, rules: DiscoverRules): Instant =>
  minusMs(serverDate ?? instantFromMs(nowMs - UNKNOWN_SERVER_TIME_MS), rules.overlap)

/**
 * A listing is full if it is the first, if `--full` requests it, if a survey returned 404 at its own address, or if the last full
 * one was `full_listing_every` ago.
 */
export const listingKind = (
  position: Cursor,
  nowMs: number,
  rules: DiscoverRules,
  full: boolean,
): ListingKind =>
  full ||
  position.cursor === null ||
  position.fullListingDue ||
  ageMs(position.fullListedAt, instantFromMs(nowMs)) >= rules.full_listing_every
    ? 'full'
    : 'incremental'

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
