/**
 * Cursor arithmetic. The listing is sorted by `created_at`, the cursor is on `updated_at`, and surveys change while we
 * page: so the next cursor is fixed before the first page is read. "The largest updated_at seen" would lose for ever
 * a survey that was read on page 1 and changed afterwards, before another change that we do see.
 */
import { ageMs, believed } from './believed.js'
import { type Instant, instantFromMs, minusMs } from './instant.js'
import type { Cursor } from './plan-facts.js'
import type { DiscoverRules, ListingKind } from './run.js'
import type { ListingState } from './warehouse.js'

/** How far our clock may be ahead of the server's where the server does not tell its time. */
const UNKNOWN_SERVER_TIME_MS = 5 * 60_000

/** An interrupted listing that began longer ago than this is begun afresh. */
const RESUME_MS_MAX = 24 * 3_600_000

/** What the cursor becomes after a listing whose first page was answered at `serverDate`. */
export const listingCeiling = (serverDate: Instant | null, nowMs: number, rules: DiscoverRules): Instant =>
  minusMs(serverDate ?? instantFromMs(nowMs - UNKNOWN_SERVER_TIME_MS), rules.overlapMs)

/**
 * A listing is full when it is the first, when somebody asks for a full one, when a survey answered 404 at its own
 * address, and `fullListingEvery` after the last full one.
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
  ageMs(position.fullListedAt, instantFromMs(nowMs)) >= rules.fullListingEveryMs
    ? 'full'
    : 'incremental'

/** The interrupted listing to go on with, or null when it is too old or another kind is due. */
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
