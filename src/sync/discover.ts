/**
 * Discovery: lists the surveys that changed since the cursor, page by page, and queues them. Each page is committed when it
 * arrives. The cursor moves with the last page, and only if no survey can have slipped between the pages.
 */

import type { Survey } from '../model/fields.js'
import { formatInstant, type Instant, instantFromMs } from '../model/instant.js'
import type { ListingKind } from '../model/run.js'
import type { Page } from '../model/survey-source.js'
import type { AccountWarehouse, ListingPage, ListingState, Position } from '../model/warehouse.js'
import { believed } from '../rules/believed.js'
import { firstPage, listingCeiling, listingKind, resumable } from '../rules/cursor.js'
import type { ListingAllowance, RunBudget } from './budget.js'
import { createPageCommits, type PageCommits } from './in-groups.js'
import {
  DriftCheck,
  driftText,
  endlessList,
  type ListingDrift,
  MOVED,
  pagesMaxOf,
  Repetitions,
} from './list-checks.js'
import type { RunDependencies } from './run-state.js'
import { type Discovery, type RunState, sawServerTime } from './run-state.js'

/** A listing that drifts is repeated twice. Then the run goes on with the surveys that it has, and ends partial. */
const LISTINGS_MAX = 3

export const discover = async (
  dependencies: RunDependencies,
  budget: RunBudget,
  state: RunState,
): Promise<Discovery> => {
  const { warehouse, clock, rules } = dependencies
  const position = await warehouse.position()
  const kind = listingKind(position, clock.nowMs(), rules.discover, rules.full)
  logWhyFull(dependencies, position)
  const unfinished = resumable(position.listing, kind, clock.nowMs())
  state.listing = unfinished?.kind ?? kind
  // A listing at page 1 has drifted or read nothing, so none of its pages count.
  const resumed = unfinished !== null && unfinished.nextPage > 1 ? unfinished : null
  const common = { dependencies, budget, state }
  const first = await listUntilStable({ ...common, kind: state.listing, cursor: position.cursor, resumed })
  if (first.discovery !== 'complete' || !first.wasResumed) return first.discovery
  // A resumed listing is complete as of its start. Later changes on pages that an earlier run had read are listed now; otherwise
  // readers would see them a night late (docs/decisions/listing-and-cursor.md#0003-a-resumed-listing-is-followed-by-the-changes-since).
  const { cursor } = await warehouse.position()
  const changes = await listUntilStable({ ...common, kind: 'incremental', cursor, resumed: null })
  return changes.discovery
}

const logWhyFull = ({ warehouse, clock, log }: RunDependencies, position: Position): void => {
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
  readonly dependencies: RunDependencies
  readonly budget: RunBudget
  readonly state: RunState
  readonly kind: ListingKind
  readonly cursor: Instant | null
  readonly resumed: ListingState | null
}

interface ListingResult {
  readonly discovery: Discovery
  /** Whether an earlier run began the listing that ended. */
  readonly wasResumed: boolean
}

/** Repeats a listing that drifts. */
const listUntilStable = async (request: ListingRequest): Promise<ListingResult> => {
  const { dependencies, budget, state, cursor } = request
  const { warehouse, log } = dependencies
  let { kind, resumed } = request
  let drift = MOVED
  for (let listing = 1; listing <= LISTINGS_MAX && !drift.isLasting; listing += 1) {
    // A resumed listing goes one page back, so its second page is the first one that makes progress.
    const allowance = budget.listing(resumed === null ? 1 : 2)
    const updatedSince = kind === 'full' ? null : (resumed?.updatedSince ?? cursor)
    const isCertain = kind === 'full' || resumed !== null || listing === LISTINGS_MAX
    const driftCheck = isCertain ? null : new DriftCheck()
    const attempt = { kind, resumed, updatedSince, driftCheck, repeated: drift.repeated }
    const result = await list({ dependencies, allowance, state, ...attempt })
    if (result === 'complete' || result === 'interrupted')
      return { discovery: result, wasResumed: resumed !== null }
    if (result === 'clock_behind') {
      kind = 'full'
      state.listing = kind
      log.warn(
        { account: warehouse.account },
        'all surveys are listed, because the cursor is in the future: a clock was wrong when it was set',
      )
    } else {
      log.warn({ account: warehouse.account, listing }, driftText(result))
      drift = result
    }
    resumed = null
  }
  state.repeated = drift.isLasting ? drift.repeated : null
  await warehouse.dropListing()
  return { discovery: 'drifted', wasResumed: false }
}

interface Listing {
  readonly dependencies: RunDependencies
  readonly allowance: ListingAllowance
  readonly state: RunState
  readonly kind: ListingKind
  readonly resumed: ListingState | null
  readonly updatedSince: bigint | null
  /** Null if the totals alone decide. */
  readonly driftCheck: DriftCheck | null
  /** What the reading before repeated; null if nothing. */
  readonly repeated: string | null
}

/** `clock_behind`: the clock is behind the requested cursor or the ceiling of the listing. */
type ListingEnd = 'complete' | 'interrupted' | 'clock_behind' | ListingDrift

/** Reads the pages of a listing. However it ends, the pages that were read are committed. */
const list = async (listing: Listing): Promise<ListingEnd> => {
  const commits = createPageCommits(listing.dependencies, listing.state)
  try {
    return await readPages(listing, commits)
  } finally {
    await commits.allEnd()
  }
}

const readPages = async (listing: Listing, commits: PageCommits): Promise<ListingEnd> => {
  const { dependencies, allowance, state, resumed, updatedSince } = listing
  const { source, warehouse, signal, log } = dependencies
  const repetitions = new Repetitions(listing.repeated)
  let previousTotal = resumed?.totalCount ?? 0
  let firstTotal = resumed?.firstTotalCount ?? null
  let next: number | null = firstPage(resumed)
  let isFirst = true
  while (next !== null) {
    await endEndless(warehouse, commits, { next, firstTotal })
    if (!(await allowance.mayReadPage(commits.hasTasks, signal))) return 'interrupted'
    const pageNumber: number = next
    const counted = state.requestUsage.counting(allowance, 'surveys', 'listing')
    const page: Page<Survey> = await source.listSurveys(
      { updatedSince, page: pageNumber },
      { signal, allowance: counted },
    )
    sawServerTime(state, page.readAt)
    if (isFirst && isAhead([updatedSince, resumed?.ceiling ?? null], page.readAt)) {
      // Stored at once: if the run ends here, the next one still lists all surveys.
      await begin({ ...listing, kind: 'full', updatedSince: null }, page)
      return 'clock_behind'
    }
    if (isFirst && resumed === null) await begin(listing, page)
    isFirst = false
    firstTotal ??= page.pagination.total_count
    listing.driftCheck?.add(page)
    // The surveys of all pages are counted after the last one.
    if (page.pagination.next_page === null) await commits.allEnd()
    const read = listingPageOf(dependencies, pageNumber, { ...page, rows: repetitions.newerRows(page) })
    const drifted = await driftOf(listing, page, { read, previousTotal, firstTotal, repetitions })
    next = drifted === null ? page.pagination.next_page : 1
    previousTotal = page.pagination.total_count
    await commits.add({ ...read, nextPage: next }, page.pagination)
    if (drifted !== null) return drifted
  }
  if (repetitions.onOnePage !== null)
    log.warn(
      { account: warehouse.account },
      `the list of surveys shows ${repetitions.onOnePage}; the newer row counts`,
    )
  return 'complete'
}

/** Gives up a listing that should have ended. */
const endEndless = async (
  warehouse: AccountWarehouse,
  commits: PageCommits,
  { next, firstTotal }: { readonly next: number; readonly firstTotal: number | null },
): Promise<void> => {
  if (firstTotal === null || next <= pagesMaxOf(firstTotal)) return
  await commits.allEnd()
  await warehouse.dropListing()
  throw endlessList('the list of surveys', pagesMaxOf(firstTotal), firstTotal)
}

/**
 * Whether a cursor was set by a wrong clock that has been corrected since. Changes in between are dated before the cursor, so
 * only a full listing shows them. `now` comes from the same clock as the cursor: the server's, or ours if it sends no time.
 * See docs/decisions/listing-and-cursor.md#0005-a-stored-time-ahead-of-now-is-not-believed.
 */
const isAhead = (cursors: readonly (Instant | null)[], now: Instant): boolean =>
  cursors.some((cursor) => cursor !== null && believed(cursor, now) === null)

/** Fixes the ceiling, which is the cursor's next value, by the server's clock at the first page. */
const begin = ({ dependencies, kind, updatedSince }: Listing, first: Page<Survey>): Promise<void> => {
  const { warehouse, clock, rules } = dependencies
  return warehouse.startListing({
    kind,
    updatedSince,
    ceiling: listingCeiling(first.serverDate, clock.nowMs(), rules.discover),
    startedAt: instantFromMs(clock.nowMs()),
  })
}

/**
 * A survey that leaves the listing pulls the later rows up, and one of them may be skipped. Then the total shrinks, or fewer
 * distinct surveys arrive than announced. A survey that is created meanwhile pushes rows down, and some are read twice. It lies
 * behind the ceiling and causes no repetition: otherwise a listing that takes several runs would never end
 * (docs/decisions/listing-and-cursor.md#0002-a-listing-whose-pages-moved-is-repeated). Null if nothing can have been skipped.
 */
const driftOf = async (
  { dependencies: { warehouse }, driftCheck }: Listing,
  page: Page<Survey>,
  {
    read,
    previousTotal,
    firstTotal,
    repetitions,
  }: {
    readonly read: ListingPage
    readonly previousTotal: number
    readonly firstTotal: number
    readonly repetitions: Repetitions
  },
): Promise<ListingDrift | null> => {
  const { total_count, next_page } = page.pagination
  if (total_count < previousTotal) return MOVED
  if (next_page !== null) return null
  const missing = firstTotal - (await warehouse.countListed(read))
  if (missing > 0) return repetitions.explain(missing)
  return driftCheck?.isShortOf(firstTotal, page.pagination) ? MOVED : null
}

const listingPageOf = (
  { clock, runId }: RunDependencies,
  page: number,
  { readAt, rows, rejections, drift, pagination }: Page<Survey>,
): ListingPage => ({
  runId,
  at: readAt,
  page,
  surveys: rows,
  rejections,
  drift,
  totalCount: pagination.total_count,
  nextPage: pagination.next_page,
  committedAt: instantFromMs(clock.nowMs()),
})
