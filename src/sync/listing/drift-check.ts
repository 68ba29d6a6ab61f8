/**
 * Which surveys stood in a listing of changes from its first page on. A survey that leaves the listing pulls the rows
 * after it up, and one slips by unseen; the total tells, unless an older survey changes at the same time and enters
 * the listing further down. But one that enters was changed after the first page was read: without those, fewer
 * surveys than announced are left.
 *
 * A survey that stood in the listing and changed once more while it was read looks the same. So this is a reason to list
 * again, not one to give up; and only where listing again costs little: what slips by else is found by the next full listing.
 */
import type { Survey } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import type { Page } from '../../model/survey-source.js'

/** Of a listing that is repeated for the sake of certainty. */
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

  /** Whether one of `total` surveys may have slipped by, and another entered in its stead. */
  isShortOf(total: number, { current_page }: Page<Survey>['pagination']): boolean {
    return current_page > 1 && current_page <= PAGES_MAX && this.#ids.size + this.#rejected < total
  }
}
