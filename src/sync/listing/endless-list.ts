/**
 * Limits the pages of a list, so that a server that announces more and more pages cannot hold a run forever. Every page with a
 * next page holds a record, so a list has at most as many pages as records
 * (docs/decisions/listing-and-cursor.md#0004-a-list-has-a-page-limit).
 */
import { UpstreamError } from '../../base/errors.js'

/** Pages for records that are created while a list is read: tens of thousands of records at the usual page size. */
export const PAGES_MORE_MAX = 500
/** More than a day of requests at 60 a minute. A listing that is older than a day starts again anyway. */
export const PAGES_MAX = 100_000

/** The list is given up, and does not count as complete. */
export const endlessList = (what: string, pagesMax: number, firstTotal: number): UpstreamError =>
  new UpstreamError(
    'endless_list',
    `${what} has no end: page ${pagesMax} still announces a next page, but the first page announced ` +
      `${firstTotal} records. Report this to the owner of the API`,
  )

/** The most pages of a list whose first page announced `firstTotal` records. */
export const pagesMaxOf = (firstTotal: number): number => Math.min(PAGES_MAX, firstTotal + PAGES_MORE_MAX)
