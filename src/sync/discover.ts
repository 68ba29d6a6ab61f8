/**
 * Discovery: lists what has changed since the cursor, page by page, and queues it. Each page is committed as it comes;
 * the cursor moves with the last one, and only when nothing can have slipped between the pages.
 */

import { believed } from '../model/believed.js'
import { firstPage, listingCeiling, listingKind, resumable } from '../model/cursor.js'
import type { Survey } from '../model/fields.js'
import { formatInstant, type Instant, instantFromMs } from '../model/instant.js'
import type { ListingKind } from '../model/run.js'
import type { Page } from '../model/survey-source.js'
import type { ListedRows, ListingState, Position } from '../model/warehouse.js'
import type { ListingAllowance, RunBudget } from './budget/budget.js'
import type { RunDependencies } from './dependencies.js'
import { DriftCheck } from './listing/drift-check.js'
import { EndlessListError, pagesMaxOf } from './listing/endless-list.js'
import { addRows, type Discovery, type RunState, sawServerTime } from './run-state.js'

/** A listing that has drifted is repeated twice; then the run goes on with what it has and ends partial. */
const LISTINGS_MAX = 3

export const discover = async (
  dependencies: RunDependencies,
  budget: RunBudget,
  state: RunState,
): Promise<Discovery> => {
  const { warehouse, clock, rules } = dependencies
  const position = await warehouse.position()
  const kind = listingKind(position, clock.nowMs(), rules.discover, rules.full)
  sayWhyFull(dependencies, position)
  const left = resumable(position.listing, kind, clock.nowMs())
  state.listing = left?.kind ?? kind
  // One that stands at page 1 has drifted, or read nothing: what it saw says nothing of the pages to come.
  const resumed = left !== null && left.nextPage > 1 ? left : null
  const common = { dependencies, budget, state }
  const first = await untilStill({ ...common, kind: state.listing, cursor: position.cursor, resumed })
  if (first.discovery !== 'complete' || !first.wasResumed) return first.discovery
  // It is complete as of when it began. What has changed on the pages that an earlier run had read lies behind its
  // ceiling, and would else be seen a night later only.
  const { cursor } = await warehouse.position()
  const changes = await untilStill({ ...common, kind: 'incremental', cursor, resumed: null })
  return changes.discovery
}

const sayWhyFull = ({ warehouse, clock, log }: RunDependencies, position: Position): void => {
  const { account } = warehouse
  const { fullListedAt, fullListingDue } = position
  if (fullListingDue)
    log.warn(
      { account },
      'all surveys are listed, because one answered 404 at its own address: the list tells whether it has gone',
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

interface Listed {
  readonly discovery: Discovery
  /** Whether the listing that ended was begun by an earlier run. */
  readonly wasResumed: boolean
}

/** Lists, and lists again what has drifted. */
const untilStill = async (request: ListingRequest): Promise<Listed> => {
  const { dependencies, budget, state, cursor } = request
  const { warehouse, log } = dependencies
  let { kind, resumed } = request
  for (let listing = 1; listing <= LISTINGS_MAX; listing += 1) {
    // A resumed listing goes one page back: its second page is the first that gets it further.
    const allowance = budget.listing(resumed === null ? 1 : 2)
    const updatedSince = kind === 'full' ? null : (resumed?.updatedSince ?? cursor)
    const isCertain = kind === 'full' || resumed !== null || listing === LISTINGS_MAX
    const driftCheck = isCertain ? null : new DriftCheck()
    const result = await list({ dependencies, allowance, state, kind, resumed, updatedSince, driftCheck })
    if (result === 'complete' || result === 'interrupted')
      return { discovery: result, wasResumed: resumed !== null }
    if (result === 'clock_behind') {
      kind = 'full'
      state.listing = kind
      log.warn(
        { account: warehouse.account },
        'all surveys are listed, because the cursor lies ahead of now: a clock was wrong when it was set',
      )
    } else {
      log.warn(
        { account: warehouse.account, listing },
        'surveys moved between the pages while they were listed',
      )
    }
    resumed = null
  }
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
  /** Null where the totals alone decide. */
  readonly driftCheck: DriftCheck | null
}

/** `clock_behind`: the clock is behind the time since which changes were requested, or up to which they will count as read. */
const list = async (listing: Listing): Promise<Discovery | 'clock_behind'> => {
  const { dependencies, allowance, state, resumed, updatedSince } = listing
  const { source, warehouse, signal, observer } = dependencies
  let previousTotal = resumed?.totalCount ?? 0
  let firstTotal = resumed?.firstTotalCount ?? null
  let next: number | null = firstPage(resumed)
  let isFirst = true
  while (next !== null) {
    if (firstTotal !== null && next > pagesMaxOf(firstTotal)) {
      await warehouse.dropListing()
      throw new EndlessListError('the list of surveys', pagesMaxOf(firstTotal), firstTotal)
    }
    if (!(await allowance.mayReadPageSoon(await warehouse.hasTasks(), signal))) return 'interrupted'
    const asked: number = next
    const counted = state.requestUsage.counting(allowance, 'surveys', 'listing')
    const page: Page<Survey> = await source.listSurveys(
      { updatedSince, page: asked },
      { signal, allowance: counted },
    )
    sawServerTime(state, page.readAt)
    if (isFirst && isAhead([updatedSince, resumed?.ceiling ?? null], page.readAt)) {
      // Stored at once: if the run ends here, the next one must know that all surveys have to be listed.
      await begin({ ...listing, kind: 'full', updatedSince: null }, page)
      return 'clock_behind'
    }
    if (isFirst && resumed === null) await begin(listing, page)
    isFirst = false
    firstTotal ??= page.pagination.total_count
    listing.driftCheck?.add(page)
    const rows = { page: asked, surveys: page.rows, rejections: page.rejections }
    const drifted = await hasDrifted(listing, page, { rows, previousTotal, firstTotal })
    next = drifted ? 1 : page.pagination.next_page
    previousTotal = page.pagination.total_count
    await commit(listing, page, { rows, nextPage: next })
    if (drifted) return 'drifted'
    observer.listed({
      account: warehouse.account,
      page: page.pagination.current_page,
      pages: page.pagination.total_pages,
      surveys: state.counts.surveysListed,
    })
  }
  return 'complete'
}

/**
 * Whether a cursor was set by a clock that was wrong, and has been put right since. What changed meanwhile is dated
 * before the cursor, and would be passed over: only a full listing shows it. `now` is the server's clock, or ours where
 * it tells no time: the cursor comes from the same.
 */
const isAhead = (cursors: readonly (Instant | null)[], now: Instant): boolean =>
  cursors.some((cursor) => cursor !== null && believed(cursor, now) === null)

/** Fixes what the cursor will become, by the server's clock at the first page. */
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
 * A survey that leaves the listing pulls the rows after it up, and one may be skipped unseen. It shows: the total
 * shrinks, or in the end fewer distinct surveys have arrived than were announced. One that is created meanwhile pushes
 * rows down, so that some are read twice; it lies behind the cursor to be, and is not asked for here: a listing that
 * takes several runs would begin anew each time, and never end.
 */
const hasDrifted = async (
  { dependencies: { warehouse }, driftCheck }: Listing,
  page: Page<Survey>,
  {
    rows,
    previousTotal,
    firstTotal,
  }: { readonly rows: ListedRows; readonly previousTotal: number; readonly firstTotal: number },
): Promise<boolean> => {
  const { total_count, next_page } = page.pagination
  if (total_count < previousTotal) return true
  if (next_page !== null) return false
  if ((await warehouse.countListed(rows)) < firstTotal) return true
  return driftCheck?.isShortOf(firstTotal, page.pagination) ?? false
}

const commit = async (
  { dependencies: { warehouse, clock, runId }, state }: Listing,
  page: Page<Survey>,
  { rows, nextPage }: { readonly rows: ListedRows; readonly nextPage: number | null },
): Promise<void> => {
  const committed = await warehouse.commitListingPage({
    runId,
    at: page.readAt,
    ...rows,
    drift: page.drift,
    totalCount: page.pagination.total_count,
    nextPage,
    committedAt: instantFromMs(clock.nowMs()),
  })
  state.counts.surveysListed += page.rows.length
  addRows(state, { surveys: committed.rows })
}
