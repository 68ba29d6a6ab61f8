/** Lists the surveys that changed since the cursor. The cursor moves with the last page, and only if no survey can have slipped between pages. */
import type { Survey } from '../model/fields.js'
import { formatInstant, type Instant, instantFromMs } from '../model/instant.js'
import type { ListingKind } from '../model/run.js'
import type { Page } from '../model/survey-source.js'
import type { ListingPage, ListingState, Position } from '../model/warehouse.js'
import { believed } from '../rules/believed.js'
import { firstPage, isCountDue, listingCeiling, listingKind, resumable } from '../rules/cursor.js'
import type { ListingAllowance } from './budget.js'
import { createPageCommits } from './in-groups.js'
import { driftText, endlessList, type ListingDrift, MOVED, pagesMaxOf, ShownSurveys } from './list-checks.js'
import { type Discovery, type Run, sawServerTime } from './run-state.js'

/** A listing that drifts is repeated twice. Then the run goes on with the surveys that it has, and ends partial. */
const LISTINGS_MAX = 3

/** `position` is the one before the run. */
export const discover = async (run: Run, position: Position): Promise<Discovery> => {
  const { warehouse, clock, rules, state } = run
  const kind = listingKind(position, clock.nowMs(), rules.discover, rules.full)
  logWhyFull(run, position)
  const unfinished = resumable(position.listing, kind, clock.nowMs())
  state.listing = unfinished?.kind ?? kind
  // A listing at page 1 has drifted or read nothing, so none of its pages count.
  const resumed = unfinished !== null && unfinished.nextPage > 1 ? unfinished : null
  const first = await listUntilStable(run, { kind: state.listing, cursor: position.cursor, resumed })
  if (first.discovery !== 'complete') return first.discovery
  if (first.wasResumed) {
    // A resumed listing is complete as of its start. Later changes on pages that an earlier run had read are listed now; otherwise
    // readers would see them a night late (docs/decisions/listing-and-cursor.md#0003-a-resumed-listing-is-followed-by-the-changes-since).
    const { cursor } = await warehouse.position()
    const { discovery } = await listUntilStable(run, { kind: 'incremental', cursor, resumed: null })
    if (discovery !== 'complete') return discovery
  }
  if (state.listing === 'full') return 'complete'
  if (!isCountDue(position, clock.nowMs(), rules.discover)) return 'complete'
  if (await haveNoneGone(run)) return 'complete'
  state.listing = 'full'
  return (await listUntilStable(run, { kind: 'full', cursor: null, resumed: null }, 0)).discovery
}

/**
 * Whether the API has as many surveys as are known; true too if the budget leaves no request for it. A survey that is gone and one that was
 * never listed could hide each other (docs/decisions/listing-and-cursor.md#0081-a-count-takes-the-place-of-most-full-listings).
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
  if (!(await allowance.mayReadPage(() => warehouse.hasTasks(), signal))) return true
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
  readonly cursor: Instant | null
  readonly resumed: ListingState | null
}

/** Repeats a listing that drifts. Its first `pagesMin` pages may exceed the budget. `wasResumed`: an earlier run began the listing that ended. */
const listUntilStable = async (
  run: Run,
  request: ListingRequest,
  pagesMin = 1,
): Promise<{ readonly discovery: Discovery; readonly wasResumed: boolean }> => {
  const { warehouse, log, budget, state } = run
  const { account } = warehouse
  const { cursor } = request
  let { kind, resumed } = request
  let drift = MOVED
  for (let listing = 1; listing <= LISTINGS_MAX && !drift.isLasting; listing += 1) {
    // A resumed listing goes one page back, so its second page is the first one that makes progress.
    const allowance = budget.listing(resumed === null ? pagesMin : 2)
    const updatedSince = kind === 'full' ? null : (resumed?.updatedSince ?? cursor)
    const isCertain = kind === 'full' || resumed !== null || listing === LISTINGS_MAX
    const attempt = { allowance, kind, resumed, updatedSince, isCertain, repeated: drift.repeated }
    const result = await new Listing(run, attempt).read()
    if (result === 'complete' || result === 'interrupted')
      return { discovery: result, wasResumed: resumed !== null }
    if (result === 'clock_behind') {
      kind = 'full'
      state.listing = kind
      log.warn(
        { account },
        'all surveys are listed, because the cursor is in the future: a clock was wrong when it was set',
      )
    } else {
      log.warn({ account, listing }, driftText(result))
      drift = result
    }
    resumed = null
  }
  state.repeated = drift.isLasting ? drift.repeated : null
  await warehouse.dropListing()
  return { discovery: 'drifted', wasResumed: false }
}

interface ListingOptions {
  readonly allowance: ListingAllowance
  readonly kind: ListingKind
  readonly resumed: ListingState | null
  readonly updatedSince: Instant | null
  /** The totals alone decide whether it drifted. */
  readonly isCertain: boolean
  /** What the reading before repeated; null if nothing. */
  readonly repeated: string | null
}

/** `clock_behind`: the clock is behind the requested cursor or the ceiling of the listing. */
type ListingEnd = 'complete' | 'interrupted' | 'clock_behind' | ListingDrift

class Listing {
  readonly #run: Run
  readonly #options: ListingOptions
  readonly #commits: ReturnType<typeof createPageCommits>
  readonly #shown: ShownSurveys
  #previousTotal: number
  #firstTotal: number | null

  constructor(run: Run, options: ListingOptions) {
    const { resumed, repeated } = options
    this.#run = run
    this.#options = options
    this.#commits = createPageCommits(run)
    this.#shown = new ShownSurveys(repeated)
    this.#previousTotal = resumed?.totalCount ?? 0
    this.#firstTotal = resumed?.firstTotalCount ?? null
  }

  /** Reads the pages. However it ends, the pages that were read are committed. */
  async read(): Promise<ListingEnd> {
    try {
      return await this.#readPages()
    } finally {
      await this.#commits.allEnd()
    }
  }

  async #readPages(): Promise<ListingEnd> {
    const { allowance, kind, resumed, updatedSince } = this.#options
    const { source, warehouse, signal, log, state } = this.#run
    const counted = state.requestUsage.counting(allowance, 'surveys', 'listing')
    const cursors = [updatedSince, resumed?.ceiling ?? null]
    let isFirst = true
    for (let next: number | null = firstPage(resumed); next !== null; isFirst = false) {
      await this.#endEndless(next)
      if (!(await allowance.mayReadPage(() => this.#commits.hasTasks(), signal))) return 'interrupted'
      const query = { updatedSince, page: next }
      const page: Page<Survey> = await source.listSurveys(query, { signal, allowance: counted })
      sawServerTime(state, page.readAt)
      if (isFirst && isAhead(cursors, page.readAt)) {
        // Stored at once: if the run ends here, the next one still lists all surveys.
        await this.#begin(page, 'full', null)
        return 'clock_behind'
      }
      if (isFirst && resumed === null) await this.#begin(page, kind, updatedSince)
      const drift = await this.#take(page, next)
      if (drift !== null) return drift
      next = page.pagination.next_page
    }
    const { onOnePage } = this.#shown
    if (onOnePage !== null)
      log.warn({ account: warehouse.account }, `the list of surveys shows ${onOnePage}; the newer row counts`)
    return 'complete'
  }

  async #endEndless(next: number): Promise<void> {
    const firstTotal = this.#firstTotal
    if (firstTotal === null || next <= pagesMaxOf(firstTotal)) return
    await this.#commits.allEnd()
    await this.#run.warehouse.dropListing()
    throw endlessList('the list of surveys', firstTotal)
  }

  /** Fixes the ceiling, which is the cursor's next value, by the server's clock at the first page. */
  #begin(first: Page<Survey>, kind: ListingKind, updatedSince: Instant | null): Promise<void> {
    const { warehouse, clock, rules } = this.#run
    return warehouse.startListing({
      kind,
      updatedSince,
      ceiling: listingCeiling(first.serverDate, clock.nowMs(), rules.discover),
      startedAt: instantFromMs(clock.nowMs()),
    })
  }

  /** Hands a page to its commit. Not null if surveys may have been skipped: the listing starts again then. */
  async #take(page: Page<Survey>, number: number): Promise<ListingDrift | null> {
    const { clock, runId } = this.#run
    const { pagination, rejections, drift, readAt: at } = page
    const { total_count: totalCount, next_page: nextPage } = pagination
    const firstTotal = this.#firstTotal ?? totalCount
    this.#firstTotal = firstTotal
    // The surveys of all pages are counted after the last one.
    if (nextPage === null) await this.#commits.allEnd()
    const surveys = this.#shown.newerRows(page)
    const committedAt = instantFromMs(clock.nowMs())
    const read = { runId, at, page: number, surveys, rejections, drift, totalCount, nextPage, committedAt }
    const drifted = await this.#driftOf(page, read, firstTotal)
    this.#previousTotal = totalCount
    await this.#commits.add(drifted === null ? read : { ...read, nextPage: 1 }, pagination)
    return drifted
  }

  /**
   * A survey that leaves the listing pulls the later rows up, and one of them may be skipped: the total shrinks, or fewer surveys arrive
   * than announced (docs/decisions/listing-and-cursor.md#0002-a-listing-whose-pages-moved-is-repeated). Null if none can have been skipped.
   */
  async #driftOf(page: Page<Survey>, read: ListingPage, firstTotal: number): Promise<ListingDrift | null> {
    const { total_count, next_page, current_page } = page.pagination
    if (total_count < this.#previousTotal) return MOVED
    if (next_page !== null) return null
    const missing = firstTotal - (await this.#run.warehouse.countListed(read))
    if (missing > 0) return this.#shown.explain(missing)
    return !this.#options.isCertain && this.#shown.mayLack(firstTotal, current_page) ? MOVED : null
  }
}

/**
 * Whether a cursor was set by a wrong clock that has been corrected since. `now` comes from the same clock as the cursor: the server's,
 * or ours if it sends no time (docs/decisions/listing-and-cursor.md#0005-a-stored-time-ahead-of-now-is-not-believed).
 */
const isAhead = (cursors: readonly (Instant | null)[], now: Instant): boolean =>
  cursors.some((cursor) => cursor !== null && believed(cursor, now) === null)
