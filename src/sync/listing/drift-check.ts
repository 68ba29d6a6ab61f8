/**
 * Finds drift that the total of a listing of changes does not show. A survey that leaves the listing pulls the later rows up,
 * and one of them is skipped. The total stays the same if an older survey changes at that moment and enters further down. But
 * that survey changed after the first page was read. Without such surveys, fewer remain than announced.
 *
 * A listed survey that changes again during the listing looks the same. So this only repeats the listing, and only a short one.
 * The next full listing finds what is still skipped. Decision:
 * docs/decisions/listing-and-cursor.md#0002-a-listing-whose-pages-moved-is-repeated.
 */
import type { Survey } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import type { Page } from '../../model/survey-source.js'

/** Longer listings are not repeated because of this check. */
const PAGES_MAX = 20

export class DriftCheck {
  #firstPageAt: Instant | null = null
  readonly #ids = new Set<number>()
  #rejected = 0

  add(page: Page<Survey>): void {
    this.#firstPageAt ??= page.readAt
    for (const { id, updated_at } of page.rows) if (updated_at <= this.#firstPageAt) this.#ids.add(id)
    this.#rejected += page.rejections.length
  }

  /** Whether one of `total` surveys may have been skipped while another one entered. */
  isShortOf(total: number, { current_page }: Page<Survey>['pagination']): boolean {
    return current_page > 1 && current_page <= PAGES_MAX && this.#ids.size + this.#rejected < total
  }
}
