/**
 * Finds surveys that a listing shows more than once. Nothing can move within one page, so two rows there are the API's. A survey
 * on two pages has usually moved, but not if the next reading shows it on the same two
 * (docs/decisions/listing-and-cursor.md#0002-a-listing-whose-pages-moved-is-repeated).
 */
import type { Survey } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import type { Page } from '../../model/survey-source.js'

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

interface Shown {
  readonly page: number
  /** Null if the row could not be typed. */
  readonly updatedAt: Instant | null
}

export class Repetitions {
  /** What the reading before repeated. */
  readonly #before: string | null
  readonly #shown = new Map<number, Shown>()
  #furtherRows = 0
  #onOnePage: string | null = null
  #onTwoPages: string | null = null

  constructor(before: string | null) {
    this.#before = before
  }

  /** The rows of the next page, but for those that are older than a row of the same survey on an earlier page. */
  newerRows({ rows, rejections, repeated = [], pagination: { current_page: page } }: Page<Survey>): Survey[] {
    this.#furtherRows += repeated.length
    for (const id of repeated) this.#onOnePage ??= `survey ${id} more than once on page ${page}`
    const newer = rows.filter(
      ({ id, updated_at }) => updated_at >= (this.#shown.get(id)?.updatedAt ?? updated_at),
    )
    for (const { rowId } of rejections) if (rowId !== null) this.#add(rowId, { page, updatedAt: null })
    for (const { id, updated_at } of rows) this.#add(id, { page, updatedAt: updated_at })
    return newer
  }

  /** Why `missing` fewer surveys were shown than announced. */
  explain(missing: number): ListingDrift {
    if (this.#onOnePage !== null && missing <= this.#furtherRows)
      return { repeated: this.#onOnePage, isLasting: true }
    const repeated = this.#onTwoPages
    return { repeated, isLasting: repeated !== null && repeated === this.#before }
  }

  get onOnePage(): string | null {
    return this.#onOnePage
  }

  #add(id: number, { page, updatedAt }: Shown): void {
    const before = this.#shown.get(id)
    if (before !== undefined && before.page !== page)
      this.#onTwoPages ??= `survey ${id} on page ${before.page} and on page ${page}`
    const isNewer = updatedAt !== null && updatedAt >= (before?.updatedAt ?? updatedAt)
    this.#shown.set(id, { page, updatedAt: isNewer ? updatedAt : (before?.updatedAt ?? null) })
  }
}
