/**
 * What shows that a list is not complete: it has no end, it shows a row twice, or its rows moved between the pages
 * (docs/decisions/listing-and-cursor.md#0002-a-listing-whose-pages-moved-is-repeated).
 */
import { UpstreamError } from '../base/errors.js'
import type { Survey } from '../model/fields.js'
import type { Instant } from '../model/instant.js'
import type { Page } from '../model/survey-source.js'

/** Pages for records that are created while a list is read: tens of thousands of records at the usual page size. */
export const PAGES_MORE_MAX = 500
/** More than a day of requests at 60 a minute. */
export const PAGES_MAX = 100_000

/**
 * The most pages of a list whose first page announced `firstTotal` records. Every page with a next page holds a record
 * (docs/decisions/listing-and-cursor.md#0004-a-list-has-a-page-limit).
 */
export const pagesMaxOf = (firstTotal: number): number => Math.min(PAGES_MAX, firstTotal + PAGES_MORE_MAX)

/** The list is given up, and does not count as complete. */
export const endlessList = (what: string, firstTotal: number): UpstreamError =>
  new UpstreamError(
    'endless_list',
    `${what} has no end: page ${pagesMaxOf(firstTotal)} still announces a next page, but the first page announced ` +
      `${firstTotal} records. Report this to the owner of the API`,
  )

/** Surveys may have been skipped. */
export interface ListingDrift {
  /** What the list of surveys repeats, in words; null if no repetition explains the drift. */
  readonly repeated: string | null
  /** Another reading would show the same. */
  readonly isLasting: boolean
}

export const MOVED: ListingDrift = { repeated: null, isLasting: false }

export const driftText = ({ repeated }: ListingDrift): string =>
  repeated === null
    ? 'surveys moved between the pages during the listing'
    : `the list of surveys shows ${repeated}, and fewer surveys than it announces`

/** Listings of more pages are not repeated because a survey may have taken the place of another. */
const REPLACED_PAGES_MAX = 20

/**
 * What a listing has shown so far. Finds surveys that it shows more than once. Nothing can move within one page, so two rows there are the
 * API's. A survey on two pages has usually moved, but not if the next reading shows it on the same two.
 */
export class ShownSurveys {
  readonly #before: string | null
  /** By survey: its page, and when it was updated; null if the row could not be typed. */
  readonly #shown = new Map<number, { readonly page: number; readonly updatedAt: Instant | null }>()
  /** Those of the first pages that have not changed since the first was read. */
  readonly #unchanged = new Set<number>()
  #firstPageAt: Instant | null = null
  #rejected = 0
  #furtherRows = 0
  #onTwoPages: string | null = null
  onOnePage: string | null = null

  /** `before`: what the reading before repeated; null if nothing. */
  constructor(before: string | null) {
    this.#before = before
  }

  /** The rows of the next page, but for those that are older than a row of the same survey on an earlier page. */
  newerRows({ rows, rejections, repeated = [], pagination, readAt }: Page<Survey>): Survey[] {
    const { current_page: page } = pagination
    this.#firstPageAt ??= readAt
    if (page <= REPLACED_PAGES_MAX)
      for (const { id, updated_at } of rows) if (updated_at <= this.#firstPageAt) this.#unchanged.add(id)
    this.#rejected += rejections.length
    this.#furtherRows += repeated.length
    for (const id of repeated) this.onOnePage ??= `survey ${id} more than once on page ${page}`
    const newer = rows.filter(
      ({ id, updated_at }) => updated_at >= (this.#shown.get(id)?.updatedAt ?? updated_at),
    )
    for (const { rowId } of rejections) if (rowId !== null) this.#add(rowId, page, null)
    for (const { id, updated_at } of rows) this.#add(id, page, updated_at)
    return newer
  }

  explain(missing: number): ListingDrift {
    if (this.onOnePage !== null && missing <= this.#furtherRows)
      return { repeated: this.onOnePage, isLasting: true }
    const repeated = this.#onTwoPages
    return { repeated, isLasting: repeated !== null && repeated === this.#before }
  }

  /**
   * Whether one of `total` surveys of a listing of changes may have been skipped while another one entered, which the total does not show.
   * A survey that leaves the listing pulls the later rows up, and one of them is skipped. The total stays the same if an older survey
   * changes at that moment and enters further down. But that survey changed after the first page was read. A listed survey that changes
   * again looks the same, so this only repeats a short listing.
   */
  mayLack(total: number, page: number): boolean {
    return page > 1 && page <= REPLACED_PAGES_MAX && this.#unchanged.size + this.#rejected < total
  }

  #add(id: number, page: number, updatedAt: Instant | null): void {
    const before = this.#shown.get(id)
    if (before !== undefined && before.page !== page)
      this.#onTwoPages ??= `survey ${id} on page ${before.page} and on page ${page}`
    const isNewer = updatedAt !== null && updatedAt >= (before?.updatedAt ?? updatedAt)
    this.#shown.set(id, { page, updatedAt: isNewer ? updatedAt : (before?.updatedAt ?? null) })
  }
}
