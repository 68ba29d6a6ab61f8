/**
 * Signs that a list is not complete: it has no end, it shows a row twice, or its rows moved between the pages
 * (docs/decisions/listing-and-cursor.md#0002-a-listing-whose-pages-moved-is-repeated).
 */
import { UpstreamError } from '../base/errors.js'
import type { Survey } from '../model/fields.js'
import type { Instant } from '../model/instant.js'
import type { Page } from '../model/survey-source.js'

/** Pages for records that are created while a list is read: tens of thousands of records at the usual page size. */
export const PAGES_MORE_MAX = 500
/** An upper bound of pages: more than a day of requests at 60 a minute. */
export const PAGES_MAX = 100_000

/**
 * The most pages of a list whose first page announced `firstTotal` records. Every page with a next page holds a record
 * (docs/decisions/listing-and-cursor.md#0004-a-list-has-a-page-limit).
 */
export const pagesMaxOf = (firstTotal: number): number => Math.min(PAGES_MAX, firstTotal + PAGES_MORE_MAX)

/** The error of a list that is abandoned, and does not count as complete. */
export const endlessList = (what: string, firstTotal: number): UpstreamError =>
  new UpstreamError(
    'endless_list',
    `${what} has no end: page ${pagesMaxOf(firstTotal)} still announces a next page, but the first page announced ` +
      `${firstTotal} records. Report this to the owner of the API`,
  )

/** A listing in which rows may have been skipped. */
export interface ListingDrift {
  /** The rows that the list repeats, in words; null if no repetition explains the drift. */
  readonly repeated: string | null
  /** Whether another reading would show the same drift. */
  readonly isLasting: boolean
}

export const MOVED: ListingDrift = { repeated: null, isLasting: false }

export const driftText = ({ repeated }: ListingDrift): string =>
  repeated === null
    ? 'surveys moved between the pages during the listing'
    : `the list of surveys shows ${repeated}, and fewer surveys than it announces`

/**
 * The rows that a list has shown so far, to find rows that it shows more than once. Nothing can move within one page, so a row that is
 * twice on one page is a repetition of the API. A row on two pages has usually moved, but not if the next reading shows it on the same two
 * pages.
 */
export class ShownRows {
  readonly #what: string
  readonly #before: string | null
  readonly #pages = new Map<number, number>()
  #furtherRows = 0
  #onTwoPages: string | null = null
  onOnePage: string | null = null

  /** `what` names a row of the list. `before`: what the previous reading repeated; null if nothing. */
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

  /** Why the list shows fewer rows than it announces: `unshown` is their difference. */
  explain(unshown: number): ListingDrift {
    if (this.onOnePage !== null && unshown <= this.#furtherRows)
      return { repeated: this.onOnePage, isLasting: true }
    const repeated = this.#onTwoPages
    return { repeated, isLasting: repeated !== null && repeated === this.#before }
  }
}

/** A listing of more pages is not repeated for the mere possibility that one survey has replaced another. */
const REPLACED_PAGES_MAX = 20

/** The surveys that a listing has shown so far. */
export class ShownSurveys {
  readonly rows: ShownRows
  /** When each survey was updated; null if its row could not be typed. */
  readonly #updatedAt = new Map<number, Instant | null>()
  /** The surveys of the first pages that have not changed since the first page was read. */
  readonly #unchanged = new Set<number>()
  #firstPageAt: Instant | null = null
  #rejected = 0

  /** `before`: what the previous reading repeated; null if nothing. */
  constructor(before: string | null) {
    this.rows = new ShownRows('survey', before)
  }

  /** The rows of the next page, without rows that are older than a row of the same survey on an earlier page. */
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
   * Whether one of `total` surveys of a listing of changes may have been skipped while another survey entered, so that the total stayed the
   * same. When a survey leaves the listing, the later rows move up, and one of them is skipped. If an older survey changes at the same
   * moment, it enters further down. It is then a survey that changed after the first page was read. A listed survey that changes again
   * looks the same, so only short listings are repeated for this.
   */
  mayLack(total: number, page: number): boolean {
    return page > 1 && page <= REPLACED_PAGES_MAX && this.#unchanged.size + this.#rejected < total
  }
}
