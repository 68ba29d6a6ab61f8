/** A query of the report, as its page shows it. Anybody can run it on the published file. */
import type { z } from 'zod'

export interface Query {
  /** Identifies the query on the page and in the documentation. */
  readonly name: string
  readonly title: string
  readonly select: string
  /** Columns of the result that define one order of its rows. */
  readonly order: string
  readonly limit?: number
  /** The columns that the page shows. */
  readonly row?: z.ZodObject
}

/** The statement to copy. */
export const sqlOf = ({ select, order, limit }: Query): string =>
  `${select}\nORDER BY ${order}${limit === undefined ? '' : `\nLIMIT ${limit}`}`

/**
 * The time of the newest reading of each account. All ages and "yesterday" count from this time, by the server's clock, so the report of a
 * published state is always the same.
 */
export const NEWEST = `(SELECT account, max(greatest(listed_at, refreshed_at)) AS newest_at FROM freshness GROUP BY account)`

/** A survey whose status changed in these hours, two weeks, is recent. */
export const RECENT_HOURS = 14 * 24
