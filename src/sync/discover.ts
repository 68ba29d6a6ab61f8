/** Lists the surveys that changed since the cursor. The cursor moves with the last page, and only if no survey can have slipped between pages. */
import { UpstreamError } from '../base/errors.js'
import type { Survey } from '../model/fields.js'
import { formatInstant, type Instant, instantFromMs } from '../model/instant.js'
import type { ListingKind } from '../model/run.js'
import type { Page } from '../model/survey-source.js'
import type { ListingPage, ListingState, Position } from '../model/warehouse.js'
import { believed } from '../rules/believed.js'
import {
  changesSince,
  firstPage,
  isCountDue,
  listingCeiling,
  listingKind,
  pageAfter,
} from '../rules/cursor.js'
import type { ListingAllowance } from './budget.js'
import { createPageCommits } from './in-groups.js'
import { driftText, endlessList, type ListingDrift, MOVED, pagesMaxOf, ShownSurveys } from './list-checks.js'
import { type Discovery, type Run, sawServerTime } from './run-state.js'

/** A listing that drifts is repeated twice. Then the run goes on with the surveys that it has, and ends partial. */
const LISTINGS_MAX = 3

/**
 * `position` is the one before the run. Changes come first, also while a full listing is under way, which may take several runs
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
  // A cursor ahead of the server's time has already begun a new one.
  const resumed = changes === 'clock_behind' ? null : full
  const all = await listUntilStable(run, { kind: 'full', cursor: null, resumed })
  return worstOf([changes, all])
}

const worstOf = (ends: readonly (Discovery | 'clock_behind' | null)[]): Discovery =>
  (['drifted', 'interrupted'] as const).find((end) => ends.includes(end)) ?? 'complete'

const listChanges = async (
  run: Run,
  position: Position,
  since: Instant,
): Promise<Discovery | 'clock_behind'> => {
  const { warehouse, state } = run
  state.listing = 'incremental'
  // A listing at page 1 has drifted or read nothing, so none of its pages count.
  const unfinished = position.listings.incremental
  const resumed = unfinished !== null && unfinished.nextPage > 1 ? unfinished : null
  const end = await listUntilStable(run, { kind: 'incremental', cursor: since, resumed })
  if (end !== 'complete' || resumed === null) return end
  // A resumed listing is complete as of its start. Later changes on pages that an earlier run had read are listed now; otherwise readers
  // would see them a night late.
  const cursor = changesSince(await warehouse.position())
  return await listUntilStable(run, { kind: 'incremental', cursor, resumed: null })
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
    const updatedSince = kind === 'full' ? null : (resumed?.updatedSince ?? cursor)
    const isCertain = kind === 'full' || resumed !== null || listing === LISTINGS_MAX
    const attempt = { allowance, kind, resumed, updatedSince, isCertain, repeated: drift.repeated }
    const result = await new Listing(run, attempt).read()
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
  #leastTotal: number | null
  /** The page after those that were read one after another. */
  #nextPage: number
  #pagesRead = 0

  constructor(run: Run, options: ListingOptions) {
    const { resumed, repeated } = options
    this.#run = run
    this.#options = options
    this.#commits = createPageCommits(run)
    this.#shown = new ShownSurveys(repeated)
    this.#previousTotal = resumed?.totalCount ?? 0
    this.#leastTotal = resumed?.leastTotalCount ?? null
    this.#nextPage = resumed?.nextPage ?? 1
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
      const page: Page<Survey> | null = await source
        .listSurveys(query, { signal, allowance: counted })
        .catch((error: unknown) => this.#endOfShrunkList(error))
      if (page === null) return MOVED
      sawServerTime(state, page.readAt)
      if (isFirst && isAhead(cursors, page.readAt)) {
        // Stored at once: if the run ends here, the next one still lists all surveys.
        await this.#begin(page, 'full', null)
        return 'clock_behind'
      }
      if (isFirst && resumed === null) await this.#begin(page, kind, updatedSince)
      const taken = await this.#take(page, next)
      if (taken.drift !== null) return taken.drift
      next = taken.next
    }
    const { onOnePage } = this.#shown
    if (onOnePage !== null)
      log.warn({ account: warehouse.account }, `the list of surveys shows ${onOnePage}; the newer row counts`)
    return 'complete'
  }

  /** Null if the API refuses a page at which an earlier run stopped: the list may have become shorter. */
  #endOfShrunkList(error: unknown): null {
    if (this.#options.resumed !== null && error instanceof UpstreamError && REFUSED_PAGE.has(error.code))
      return null
    throw error
  }

  async #endEndless(next: number): Promise<void> {
    const total = this.#leastTotal
    this.#pagesRead += 1
    if (total === null || Math.max(next, this.#pagesRead) <= pagesMaxOf(total)) return
    await this.#commits.allEnd()
    await this.#run.warehouse.dropListing(this.#options.kind)
    throw endlessList('the list of surveys', total)
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

  /** Hands a page to its commit. With a `drift` surveys may have been skipped: the listing starts again then. */
  async #take(
    page: Page<Survey>,
    number: number,
  ): Promise<{ readonly next: number | null; readonly drift: ListingDrift | null }> {
    const { clock, runId } = this.#run
    const { kind, resumed } = this.#options
    const { pagination, rows, rejections, repeated = [], drift: unknown, readAt: at } = page
    const { total_count: totalCount, next_page } = pagination
    const leastTotal = Math.min(this.#leastTotal ?? totalCount, totalCount)
    this.#leastTotal = leastTotal
    const rowsOnPage = rows.length + rejections.length + repeated.length
    const read = { page: number, nextPage: next_page, rows: rowsOnPage }
    const gone = this.#previousTotal - totalCount
    const next = resumed === null ? next_page : pageAfter(read, this.#nextPage, gone)
    this.#previousTotal = totalCount
    this.#nextPage = next ?? number + 1
    // The surveys of all pages are counted after the last one.
    if (next === null) await this.#commits.allEnd()
    const surveys = this.#shown.newerRows(page)
    const committedAt = instantFromMs(clock.nowMs())
    const listed: ListingPage = {
      ...{ kind, runId, at, page: number, surveys, rejections, drift: unknown },
      ...{ totalCount, nextPage: next, committedAt },
    }
    const isShrunk = gone > 0 && resumed === null
    const drift = isShrunk ? MOVED : next === null ? await this.#driftOf(page, listed, leastTotal) : null
    await this.#commits.add(drift === null ? listed : { ...listed, nextPage: 1 }, pagination)
    return { next, drift }
  }

  /**
   * A survey that leaves the listing pulls the later rows up, and one of them may be skipped: the total shrinks, or fewer surveys arrive
   * than announced (docs/decisions/listing-and-cursor.md#0002-a-listing-whose-pages-moved-is-repeated). Null if none can have been skipped.
   */
  async #driftOf(page: Page<Survey>, last: ListingPage, announced: number): Promise<ListingDrift | null> {
    const missing = announced - (await this.#run.warehouse.countListed(last))
    if (missing > 0) return this.#shown.explain(missing)
    const { current_page } = page.pagination
    return !this.#options.isCertain && this.#shown.mayLack(announced, current_page) ? MOVED : null
  }
}

/** Statuses 404 and other 4xx: there is no such page. */
const REFUSED_PAGE: ReadonlySet<string> = new Set(['not_there', 'request_rejected'])

/**
 * Whether a cursor was set by a wrong clock that has been corrected since. `now` comes from the same clock as the cursor: the server's,
 * or ours if it sends no time (docs/decisions/listing-and-cursor.md#0005-a-stored-time-ahead-of-now-is-not-believed).
 */
const isAhead = (cursors: readonly (Instant | null)[], now: Instant): boolean =>
  cursors.some((cursor) => cursor !== null && believed(cursor, now) === null)
