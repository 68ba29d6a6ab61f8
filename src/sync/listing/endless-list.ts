/**
 * A list has an end. Every page that has a next one holds a record, so a list needs no more pages than it has records,
 * and a page for each that is created meanwhile; a server that announces ever more of them would keep a run for good.
 */
import { UpstreamError } from '../../base/errors.js'

/** Pages for what is created while a list is read: at the usual size of a page, tens of thousands of records. */
export const PAGES_MORE_MAX = 500
/** At 60 requests a minute more than a day's worth, and a listing that is older than a day is begun afresh. */
export const PAGES_MAX = 100_000

/** The list is given up; nothing of it counts as complete. */
export class EndlessListError extends UpstreamError {
  readonly code = 'endless_list'
  readonly endsRun = false

  /** `what` names the list, as in `the list of surveys`. */
  constructor(what: string, pagesMax: number, firstTotal: number) {
    super(
      `${what} does not end: there is still a next page after page ${pagesMax}, and its first page announced ` +
        `${firstTotal} records in all; tell the API's owner`,
    )
  }
}

/** Pages that a list may have whose first page announced `firstTotal` records. */
export const pagesMaxOf = (firstTotal: number): number => Math.min(PAGES_MAX, firstTotal + PAGES_MORE_MAX)
