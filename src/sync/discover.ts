/**
 * Which listings a run reads: the changes since the cursor, and all surveys if a full listing is due. A listing that drifts is repeated.
 */
import { formatInstant, type Instant, instantFromMs } from '../model/instant.js'
import type { ListingKind } from '../model/run.js'
import type { ListingState, Position } from '../model/warehouse.js'
import { believed } from '../rules/believed.js'
import { changesSince, type DatedCursor, isCountDue, listingKind } from '../rules/cursor.js'
import { driftText, MOVED } from './list-checks.js'
import { Listing, type ListingEnd, type ListingOptions } from './listing.js'
import { type Discovery, type Run, sawServerTime } from './run-state.js'

/** A listing that drifts is repeated twice. Then the run goes on with the surveys that it has, and ends partial. */
const LISTINGS_MAX = 3

/**
 * `position` is the position before the run. Changes are listed first, also while a full listing is under way, which may take several runs
 * (docs/decisions/listing-and-cursor.md#0003-a-listing-goes-on-in-the-next-run).
 */
export const discover = async (run: Run, position: Position): Promise<Discovery> => {
  const { clock, rules, state } = run
  const { full } = position.listings
  logWhyFull(run, position)
  const since = changesSince(position)
  const changes = since === null ? null : await listChanges(run, position, since)
  const isFullDue =
    full !== null || listingKind(position, clock.nowMs(), rules.discover, rules.full) === 'full'
  if (changes !== 'clock_behind' && !isFullDue) {
    if (changes !== 'complete' || !isCountDue(position, clock.nowMs(), rules.discover))
      return changes ?? 'complete'
    if (await haveNoneGone(run)) return 'complete'
  }
  state.listing = 'full'
  // If the cursor was ahead of the server's time, a new full listing has already begun.
  const resumed = changes === 'clock_behind' ? null : full
  const all = await listUntilStable(run, { kind: 'full', cursor: null, resumed })
  return worstOf([changes, all])
}

const worstOf = (ends: readonly (Discovery | 'clock_behind' | null)[]): Discovery =>
  (['drifted', 'interrupted'] as const).find((end) => ends.includes(end)) ?? 'complete'

const listChanges = async (
  run: Run,
  position: Position,
  since: DatedCursor,
): Promise<Discovery | 'clock_behind'> => {
  const { warehouse, state } = run
  state.listing = 'incremental'
  // A listing whose next page is 1 has drifted or read nothing, so none of its pages count.
  const unfinished = position.listings.incremental
  const resumed = unfinished !== null && unfinished.nextPage > 1 ? unfinished : null
  const end = await listUntilStable(run, { kind: 'incremental', cursor: since, resumed })
  if (end !== 'complete' || resumed === null) return end
  // A resumed listing is complete as of its start. Changes after that start, on pages that an earlier run had read, are listed now;
  // otherwise readers would see them a night late.
  const cursor = changesSince(await warehouse.position())
  return await listUntilStable(run, { kind: 'incremental', cursor, resumed: null })
}

/**
 * Whether the API has as many surveys as we know. Also true if the budget leaves no request for the count. A survey that is gone and a
 * survey that was never listed could hide each other
 * (docs/decisions/listing-and-cursor.md#0081-a-count-takes-the-place-of-most-full-listings).
 */
const haveNoneGone = async ({
  source,
  warehouse,
  budget,
  signal,
  clock,
  state,
  log,
}: Run): Promise<boolean> => {
  const allowance = budget.listing(0)
  if (!(await allowance.mayReadPage(() => warehouse.hasTasks()))) return true
  const counted = state.requestUsage.counting(allowance, 'surveys', 'listing')
  const query = { updatedSince: null, page: 1 }
  const { pagination, readAt } = await source.listSurveys(query, { signal, allowance: counted })
  sawServerTime(state, readAt)
  const total = pagination.total_count
  if (await warehouse.agreesWithTotal(total, instantFromMs(clock.nowMs()))) return true
  log.info(
    { account: warehouse.account, total },
    'all surveys are listed, because the API has another number of them',
  )
  return false
}

const logWhyFull = ({ warehouse, clock, log }: Run, position: Position): void => {
  const { account } = warehouse
  const { fullListedAt, fullListingDue } = position
  if (fullListingDue)
    log.warn(
      { account },
      'all surveys are listed, because a survey answered 404: the list shows whether it still exists',
    )
  if (fullListedAt !== null && believed(fullListedAt, instantFromMs(clock.nowMs())) === null)
    log.warn(
      { account, fullListedAt: formatInstant(fullListedAt) },
      "all surveys are listed, because the last full listing is dated ahead of this machine's clock",
    )
}

interface ListingRequest {
  readonly kind: ListingKind
  readonly cursor: DatedCursor | null
  readonly resumed: ListingState | null
}

/**
 * Repeats a listing that drifts. `clock_behind`: the changes cannot be listed since a cursor ahead of the server's time, and a full listing
 * has begun.
 */
const listUntilStable = async (
  run: Run,
  { kind, cursor, resumed: unfinished }: ListingRequest,
): Promise<Discovery | 'clock_behind'> => {
  const { warehouse, log, budget, state } = run
  const { account } = warehouse
  let resumed = unfinished
  let drift = MOVED
  for (let listing = 1; listing <= LISTINGS_MAX && !drift.isLasting; listing += 1) {
    // A resumed listing goes one page back, so its second page is the first one that makes progress.
    const allowance = budget.listing(resumed === null ? 1 : 2)
    const updatedSince = kind === 'full' ? null : (resumed?.updatedSince ?? cursor?.since ?? null)
    const isCertain = kind === 'full' || resumed !== null || listing === LISTINGS_MAX
    const checked = resumed === null ? cursor : null
    const attempt = {
      allowance,
      kind,
      resumed,
      updatedSince,
      cursor: checked,
      isCertain,
      repeated: drift.repeated,
    }
    const result = await readListing(run, attempt)
    if (result === 'complete' || result === 'interrupted') return result
    if (result === 'clock_behind') {
      log.warn(
        { account },
        'all surveys are listed, because the cursor is in the future: a clock was wrong when it was set',
      )
      await warehouse.dropListing('incremental')
      if (kind === 'incremental') return result
    } else {
      log.warn({ account, listing }, driftText(result))
      drift = result
    }
    resumed = null
  }
  state.repeated = drift.isLasting ? drift.repeated : null
  await warehouse.dropListing(kind)
  return 'drifted'
}

/** If the cursor proves too late by both clocks, the changes are listed from an earlier time. */
const readListing = async (
  run: Run,
  attempt: ListingOptions,
): Promise<Exclude<ListingEnd, { readonly since: Instant }>> => {
  const end = await new Listing(run, attempt).read()
  if (typeof end === 'string' || !('since' in end)) return end
  run.log.warn(
    { account: run.warehouse.account, since: formatInstant(end.since) },
    "changes are listed from an earlier time: the API's clock and that of this machine moved apart since the last listing",
  )
  const allowance = run.budget.listing(1)
  return await readListing(run, { ...attempt, allowance, updatedSince: end.since, cursor: null })
}
