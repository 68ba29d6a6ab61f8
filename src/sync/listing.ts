/**
 * Reads one listing of surveys, page by page. The cursor moves with the last page, and only if no survey can have slipped between pages
 * (docs/decisions/listing-and-cursor.md#0002-a-listing-whose-pages-moved-is-repeated).
 */
import { UpstreamError } from '../base/errors.js'
import type { Survey } from '../model/fields.js'
import { type Instant, instantFromMs } from '../model/instant.js'
import type { ListingKind } from '../model/run.js'
import type { Page, Pagination } from '../model/survey-source.js'
import type { ListingPage, ListingState } from '../model/warehouse.js'
import { believed } from '../rules/believed.js'
import { type DatedCursor, earlierSince, firstPage, listingCeiling, pageAfter } from '../rules/cursor.js'
import { Batch } from './batch.js'
import type { ListingAllowance } from './budget.js'
import { endlessList, type ListingDrift, MOVED, pagesMaxOf, ShownSurveys } from './list-checks.js'
import { addRows, type Run, sawServerTime } from './run-state.js'

/** Pages that may wait for their commit. The limit bounds the memory. */
const UNCOMMITTED_PAGES_MAX = 50

export interface ListingOptions {
  readonly allowance: ListingAllowance
  readonly kind: ListingKind
  readonly resumed: ListingState | null
  readonly updatedSince: Instant | null
  /** The cursor of a new listing of changes, which is compared with both clocks; otherwise null. */
  readonly cursor: DatedCursor | null
  /** Whether the totals alone decide if the listing drifted. */
  readonly isCertain: boolean
  /** What the previous reading repeated; null if nothing. */
  readonly repeated: string | null
}

interface ReadPage {
  readonly listed: ListingPage
  readonly pagination: Pagination
}

/**
 * `clock_behind`: the clock lags the requested cursor or the ceiling of the listing. `since`: the requested cursor is too late, and changes
 * are to be listed from this time.
 */
export type ListingEnd =
  | 'complete'
  | 'interrupted'
  | 'clock_behind'
  | { readonly since: Instant }
  | ListingDrift

export class Listing {
  readonly #run: Run
  readonly #options: ListingOptions
  readonly #pages: Batch<ReadPage>
  readonly #shown: ShownSurveys
  #previousTotal: number
  #leastTotal: number | null
  /** The page after the last page that was read without a gap. */
  #nextPage: number
  #pagesRead = 0

  constructor(run: Run, options: ListingOptions) {
    const { resumed, repeated } = options
    this.#run = run
    this.#options = options
    this.#pages = new Batch(run.clock, (pages) => this.#commit(pages))
    this.#shown = new ShownSurveys(repeated)
    this.#previousTotal = resumed?.totalCount ?? 0
    this.#leastTotal = resumed?.leastTotalCount ?? null
    this.#nextPage = resumed?.nextPage ?? 1
  }

  /** Reads the pages. In any case, also after an error, the read pages are committed. */
  async read(): Promise<ListingEnd> {
    try {
      return await this.#readPages()
    } finally {
      await this.#pages.committed
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
      if (!(await allowance.mayReadPage(() => this.#hasTasks()))) return 'interrupted'
      const query = { updatedSince, page: next }
      const page: Page<Survey> | null = await source
        .listSurveys(query, { signal, allowance: counted })
        .catch((error: unknown) => this.#endOfShrunkList(error))
      if (page === null) return MOVED
      sawServerTime(state, page.readAt)
      if (isFirst && isAhead(cursors, page.readAt)) {
        // Stored at once, so that the next run lists all surveys even if this run ends here.
        await this.#begin(page, 'full', null)
        return 'clock_behind'
      }
      const since = isFirst ? this.#earlierSince(page.readAt) : null
      if (since !== null) return { since }
      if (isFirst && resumed === null) await this.#begin(page, kind, updatedSince)
      const taken = await this.#take(page, next)
      if (taken.drift !== null) return taken.drift
      next = taken.next
    }
    const { onOnePage } = this.#shown.rows
    if (onOnePage !== null)
      log.warn({ account: warehouse.account }, `the list of surveys shows ${onOnePage}; the newer row counts`)
    return 'complete'
  }

  #earlierSince(at: Instant): Instant | null {
    const { clock, rules } = this.#run
    const { cursor } = this.#options
    return cursor && earlierSince(cursor, at, clock.nowMs(), rules.discover)
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
    await this.#pages.committed
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

  /** Passes a page to its commit. With a `drift`, surveys may have been skipped, and the listing starts again. */
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
    // Surveys are counted after the last page, when all pages are committed.
    if (next === null) await this.#pages.committed
    const surveys = this.#shown.newerRows(page)
    const committedAt = instantFromMs(clock.nowMs())
    const listed: ListingPage = {
      ...{ kind, runId, at, page: number, surveys, rejections, drift: unknown },
      ...{ totalCount, nextPage: next, committedAt },
    }
    const isShrunk = gone > 0 && resumed === null
    const drift = isShrunk ? MOVED : next === null ? await this.#driftOf(page, listed, leastTotal) : null
    const committed = this.#pages.add({
      listed: drift === null ? listed : { ...listed, nextPage: 1 },
      pagination,
    })
    // The error of a commit is thrown at the end of the listing.
    committed.catch(() => undefined)
    if (this.#pagesRead % UNCOMMITTED_PAGES_MAX === 0) await committed
    return { next, drift }
  }

  async #commit(pages: readonly ReadPage[]): Promise<void> {
    const { warehouse, observer, log, state } = this.#run
    const { account } = warehouse
    addRows(state, { surveys: await warehouse.commitListingPages(pages.map(({ listed }) => listed)) })
    const { counts } = state
    for (const { listed: page, pagination } of pages) {
      counts.surveysListed += page.surveys.length
      log.debug({ account, page: page.page }, 'committed a page of the listing')
      const { current_page, total_pages } = pagination
      observer.listed({ account, page: current_page, pages: total_pages, surveys: counts.surveysListed })
    }
  }

  /** Whether surveys are queued, also by pages that wait for their commit. */
  async #hasTasks(): Promise<boolean> {
    await this.#pages.committed
    return await this.#run.warehouse.hasTasks()
  }

  /**
   * When a survey leaves the listing, the later rows move up, and one of them may be skipped: the total shrinks, or fewer surveys arrive
   * than announced (docs/decisions/listing-and-cursor.md#0002-a-listing-whose-pages-moved-is-repeated). Null if no survey can have been
   * skipped.
   */
  async #driftOf(page: Page<Survey>, last: ListingPage, announced: number): Promise<ListingDrift | null> {
    const unshown = announced - (await this.#run.warehouse.countListed(last))
    if (unshown > 0) return this.#shown.rows.explain(unshown)
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
