/** A query of the report, as its page shows it. Anybody can run it on the published file. */
import type { z } from 'zod'

export interface Query {
  /** Identifies it on the page and in the documentation. */
  readonly name: string
  readonly title: string
  readonly select: string
  /** Columns of the result. They put its rows into one order only. */
  readonly order: string
  readonly limit?: number
  /** The columns that the page shows. */
  readonly row?: z.ZodObject
}

/** The statement to copy. */
export const sqlOf = ({ select, order, limit }: Query): string =>
  `${select}\nORDER BY ${order}${limit === undefined ? '' : `\nLIMIT ${limit}`}`

/**
 * As of when each account is known. All ages and "yesterday" count from here, by the server's clock, so the report of a published state
 * is always the same.
 */
export const NEWEST = `(SELECT account, max(greatest(listed_at, refreshed_at)) AS newest_at FROM freshness GROUP BY account)`
