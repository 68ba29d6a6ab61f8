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

/** Rows may have been skipped. */
export interface ListingDrift {
  /** What the list repeats, in words; null if no repetition explains the drift. */
  readonly repeated: string | null
  /** Another reading would show the same. */
  readonly isLasting: boolean
}

export const MOVED: ListingDrift = { repeated: null, isLasting: false }

export const driftText = ({ repeated }: ListingDrift): string =>
  repeated === null
    ? 'surveys moved between the pages during the listing'
    : `the list of surveys shows ${repeated}, and fewer surveys than it announces`

/**
 * The rows that a list has shown so far. Finds those that it shows more than once. Nothing can move within one page, so two rows there are
 * the API's. A row on two pages has usually moved, but not if the next reading shows it on the same two.
 */
export class ShownRows {
  readonly #what: string
  readonly #before: string | null
  readonly #pages = new Map<number, number>()
  #furtherRows = 0
  #onTwoPages: string | null = null
  onOnePage: string | null = null

  /** `what` is one row of the list. `before`: what the reading before repeated; null if nothing. */
  constructor(what: 'survey' | 'source', before: string | null) {
    this.#what = what
    this.#before = before
  }

  add({ rows, rejections, repeated = [], pagination }: Page<{ readonly id: number }>): void {
    const { current_page: page } = pagination
    this.#furtherRows += repeated.length
    for (const id of repeated) this.onOnePage ??= `${this.#what} ${id} more than once on page ${page}`
    for (const id of [...rejections.flatMap(({ rowId }) => rowId ?? []), ...rows.map((row) => row.id)]) {
      const earlier = this.#pages.get(id) ?? page
      if (earlier !== page) this.#onTwoPages ??= `${this.#what} ${id} on page ${earlier} and on page ${page}`
      this.#pages.set(id, page)
    }
  }

  /** Why the list shows fewer rows than it announces: `missing` of them. */
  explain(missing: number): ListingDrift {
    if (this.onOnePage !== null && missing <= this.#furtherRows)
      return { repeated: this.onOnePage, isLasting: true }
    const repeated = this.#onTwoPages
    return { repeated, isLasting: repeated !== null && repeated === this.#before }
  }
}

/** Listings of more pages are not repeated because a survey may have taken the place of another. */
const REPLACED_PAGES_MAX = 20

/** What a listing of surveys has shown so far. */
export class ShownSurveys {
  readonly rows: ShownRows
  /** When each survey was updated; null if its row could not be typed. */
  readonly #updatedAt = new Map<number, Instant | null>()
  /** Those of the first pages that have not changed since the first was read. */
  readonly #unchanged = new Set<number>()
  #firstPageAt: Instant | null = null
  #rejected = 0

  /** `before`: what the reading before repeated; null if nothing. */
  constructor(before: string | null) {
    this.rows = new ShownRows('survey', before)
  }

  /** The rows of the next page, but for those that are older than a row of the same survey on an earlier page. */
  newerRows(page: Page<Survey>): Survey[] {
    const { rows, rejections, pagination, readAt } = page
    this.#firstPageAt ??= readAt
    if (pagination.current_page <= REPLACED_PAGES_MAX)
      for (const { id, updated_at } of rows) if (updated_at <= this.#firstPageAt) this.#unchanged.add(id)
    this.#rejected += rejections.length
    this.rows.add(page)
    const newer = rows.filter(({ id, updated_at }) => updated_at >= (this.#updatedAt.get(id) ?? updated_at))
    for (const { rowId } of rejections)
      if (rowId !== null && !this.#updatedAt.has(rowId)) this.#updatedAt.set(rowId, null)
    for (const { id, updated_at } of newer) this.#updatedAt.set(id, updated_at)
    return newer
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
}
