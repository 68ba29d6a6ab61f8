/** The position of discovery: the cursor, and the listings under way with their pages, so that the next run can resume them. */
import { z } from 'zod'
import { bigint, columnsOf, timestamptz } from '../../model/columns.js'
import type { Instant } from '../../model/instant.js'
import type { ListingKind } from '../../model/run.js'
import { LISTING_KINDS } from '../../model/run-record.js'
import { listings } from '../../model/sync-tables.js'
import type { ListedRows, ListingPage, ListingStart, ListingState, Position } from '../../model/warehouse.js'
import { bigintCell, booleanCell, timestamptzCell } from '../connection/cells.js'
import { type AccountSql, countOf } from '../connection/database.js'
import { CURSORS, FRESHNESS, LISTINGS } from './older-state.js'
import { forgetNeverTyped, LEAVES_OUT, queueNotListed, requireFullListing } from './unlisted-surveys.js'

const cursorRow = z.object({
  cursor: timestamptzCell.nullable(),
  cursorDatedAt: timestamptzCell.nullable(),
  fullListedAt: timestamptzCell.nullable(),
  countedAt: timestamptzCell.nullable(),
  fullListingDue: booleanCell,
  hasLeftOut: booleanCell,
})
const listingRow = z.object({
  kind: z.enum(LISTING_KINDS),
  updatedSince: timestamptzCell.nullable(),
  ceiling: timestamptzCell,
  ceilingDatedAt: timestamptzCell.nullable(),
  nextPage: bigintCell,
  totalCount: bigintCell,
  leastTotalCount: bigintCell.nullable(),
  startedAt: timestamptzCell,
})

export const readPosition = async ({ account, rows }: AccountSql): Promise<Position> => {
  const none = {
    cursor: null,
    cursorDatedAt: null,
    fullListedAt: null,
    countedAt: null,
    fullListingDue: false,
    hasLeftOut: false,
  }
  const [cursor = none] = await rows(
    cursorRow,
    `SELECT updated_since AS "cursor", dated_at AS "cursorDatedAt", full_listed_at AS "fullListedAt", counted_at AS "countedAt", coalesce(full_listing_due, false) AS "fullListingDue",
      EXISTS(FROM ${FRESHNESS} f SEMI JOIN (FROM main.surveys WHERE _missing_since IS NULL) s ON s.account = f.account AND s.id = f.survey_id
        WHERE f.account = $1 AND ${LEAVES_OUT}) AS "hasLeftOut"
      FROM ${CURSORS} WHERE account = $1`,
    [account],
  )
  const unfinished = await rows(
    listingRow,
    `SELECT kind, updated_since AS "updatedSince", ceiling, ceiling_dated_at AS "ceilingDatedAt", next_page AS "nextPage", total_count AS "totalCount",
        least_total_count AS "leastTotalCount", started_at AS "startedAt"
      FROM ${LISTINGS} WHERE account = $1`,
    [account],
  )
  const ofKind = (kind: ListingKind) => unfinished.find((listing) => listing.kind === kind) ?? null
  return { ...cursor, listings: { full: ofKind('full'), incremental: ofKind('incremental') } }
}

export const startListing = async (sql: AccountSql, start: ListingStart): Promise<void> => {
  const { kind, updatedSince: updated_since, ceiling, startedAt: started_at } = start
  const times = { updated_since, ceiling, ceiling_dated_at: started_at, started_at }
  const counts = { next_page: 1, total_count: 0, unidentified_rows: 0 }
  await dropListing(sql, kind)
  await sql.insert(listings, [{ account: sql.account, kind, ...times, ...counts }])
  if (kind === 'full') await requireFullListing(sql)
}

export const dropListing = async (sql: AccountSql, kind: ListingKind): Promise<void> => {
  await sql.run('DELETE FROM _sync.listed_ids WHERE account = $1 AND kind = $2', [sql.account, kind])
  await sql.run('DELETE FROM _sync.listings WHERE account = $1 AND kind = $2', [sql.account, kind])
}

/** Distinct surveys seen so far, this page included; a rejected row without a readable id counts as one. */
export const countListed = async (sql: AccountSql, page: ListedRows): Promise<number> => {
  const listed = await countOf(
    sql,
    `SELECT count(*) + coalesce((SELECT ${UNIDENTIFIED_BEFORE} FROM _sync.listings WHERE account = $1 AND kind = $4), 0)::BIGINT AS "Count"
      FROM (SELECT survey_id FROM _sync.listed_ids WHERE account = $1 AND kind = $4 UNION SELECT unnest(CAST($2::JSON AS BIGINT[])))`,
    [sql.account, JSON.stringify(listedIds(page)), page.page, page.kind],
  )
  return listed + unidentified(page)
}

/** Rows without a readable id on earlier pages. If page $3 is read again, its earlier rows do not count. */
const UNIDENTIFIED_BEFORE =
  'unidentified_rows - CASE WHEN $3 < next_page THEN coalesce(last_page_unidentified_rows, 0) ELSE 0 END'

const listedIds = ({ surveys, rejections }: ListedRows): readonly number[] => [
  ...surveys.map(({ id }) => id),
  ...rejections.flatMap(({ rowId }) => rowId ?? []),
]

const unidentified = ({ rejections }: ListedRows): number =>
  rejections.filter(({ rowId }) => rowId === null).length

const LISTED_STAGE = 'stage_listed'
const LISTED_COLUMNS = columnsOf({ survey_id: bigint(''), at: timestamptz('') })

export const rememberListed = async (sql: AccountSql, pages: readonly ListingPage[]): Promise<void> => {
  const { account } = sql
  const last = lastOf(pages)
  const listed = pages.flatMap((page) => listedIds(page).map((surveyId) => ({ surveyId, at: page.at })))
  await noteListed(sql, listed)
  if (listed.length > 0) {
    await sql.run(
      `INSERT INTO _sync.listed_ids (account, kind, survey_id) SELECT $1, l.kind, s.survey_id FROM temp.${LISTED_STAGE} s,
        (FROM _sync.listings WHERE account = $1 AND kind IN ($2, 'full')) l`,
      [account, last.kind],
    )
    // If this listing shows a survey that an earlier listing did not show, the survey has not gone. So its task no longer has the reason
    // `missing`.
    await sql.run(
      `UPDATE _sync.tasks SET reason = 'changed' WHERE account = $1 AND reason = 'missing'
        AND survey_id IN (SELECT survey_id FROM temp.${LISTED_STAGE})`,
      [account],
    )
  }
  const [{ page } = last] = pages
  const leastTotal = Math.min(...pages.map(({ totalCount }) => totalCount))
  await sql.run(
    `UPDATE _sync.listings SET next_page = $2, total_count = $4, least_total_count = least(least_total_count, $5),
      unidentified_rows = ${UNIDENTIFIED_BEFORE} + $6, last_page_unidentified_rows = $7 WHERE account = $1 AND kind = $8`,
    [
      account,
      last.nextPage ?? 0,
      page,
      last.totalCount,
      leastTotal,
      unidentifiedOn(pages),
      unidentified(last),
      last.kind,
    ],
  )
}

/** Rows without a readable id on these pages. A page that is read again at once counts once. */
const unidentifiedOn = (pages: readonly ListingPage[]): number =>
  pages.reduce((sum, page, index) => {
    const next = pages[index + 1]
    const isReadAgain = next !== undefined && next.page < (page.nextPage ?? 0)
    return isReadAgain ? sum : sum + unidentified(page)
  }, 0)

export const lastOf = (pages: readonly ListingPage[]): ListingPage => {
  const page = pages.at(-1)
  if (page === undefined) throw new TypeError('a commit of a listing without a page')
  return page
}

/** Stores when surveys were seen in a listing. If a survey is listed twice, the later time counts. */
export const noteListed = async (
  sql: AccountSql,
  listed: readonly { readonly surveyId: number; readonly at: Instant }[],
): Promise<void> => {
  if (listed.length === 0) return
  const rows = listed.map(({ surveyId, at }) => ({ survey_id: surveyId, at }))
  await sql.stage(LISTED_STAGE, LISTED_COLUMNS, rows)
  await sql.run(
    `MERGE INTO main.freshness f
      USING (SELECT survey_id, max("at") AS listed_at FROM temp.${LISTED_STAGE} GROUP BY survey_id) s
      ON f.account = $1 AND f.survey_id = s.survey_id
      WHEN MATCHED THEN UPDATE SET listed_at = s.listed_at, unlisted_since = NULL
      WHEN NOT MATCHED THEN INSERT (account, survey_id, listed_at) VALUES ($1, s.survey_id, s.listed_at)`,
    [sql.account],
  )
}

/**
 * Ends the listing if its last page is among `pages`: moves the cursor to the ceiling of the listing, and after a full listing queues the
 * surveys that were not listed. The cursor begins with the first full listing. Until this listing ends, its ceiling serves as the cursor.
 */
export const completeListing = async (sql: AccountSql, pages: readonly ListingPage[]): Promise<void> => {
  const page = lastOf(pages)
  if (page.nextPage !== null) return
  const { cursor, listings: unfinished } = await readPosition(sql)
  const listing = unfinished[page.kind]
  if (listing === null) throw new Error('cannot end a listing that was never started')
  if (listing.kind === 'incremental')
    await sql.run(
      `UPDATE _sync.listings SET ceiling = $2, ceiling_dated_at = $3 WHERE account = $1 AND kind = 'full'`,
      [sql.account, listing.ceiling, listing.ceilingDatedAt],
    )
  if (listing.kind === 'full' || cursor !== null || unfinished.full === null)
    await moveCursor(sql, listing, page)
  if (listing.kind === 'full') {
    await queueNotListed(sql, page)
    await forgetNeverTyped(sql)
  }
  await dropListing(sql, listing.kind)
}

const moveCursor = async (sql: AccountSql, listing: ListingState, page: ListingPage): Promise<void> => {
  const isFull = listing.kind === 'full'
  await sql.run(
    `MERGE INTO _sync.cursors c USING (SELECT $1 AS account) s ON c.account = s.account
      WHEN MATCHED THEN UPDATE SET updated_since = $2, dated_at = $6, moved_at = $3,
        full_listed_at = CASE WHEN $4 THEN $3 ELSE c.full_listed_at END,
        full_listing_due = CASE WHEN $4 THEN false ELSE c.full_listing_due END, page_rows = coalesce($5, c.page_rows)
      WHEN NOT MATCHED THEN INSERT (account, updated_since, dated_at, full_listed_at, full_listing_due, moved_at, page_rows)
        VALUES ($1, $2, $6, $3, false, $3, $5)`,
    [sql.account, listing.ceiling, page.committedAt, isFull, pageRowsOf(page), listing.ceilingDatedAt],
  )
}

/** Surveys of which no row could be typed count as known too, as long as full listings show them. */
export const agreesWithTotal = async (sql: AccountSql, totalCount: number, at: Instant): Promise<boolean> => {
  const known = await countOf(
    sql,
    `SELECT count(*) AS "Count" FROM (
      SELECT id FROM main.surveys s WHERE account = $1 AND _missing_since IS NULL
        AND NOT EXISTS (FROM main.freshness f WHERE f.account = s.account AND f.survey_id = s.id AND f.unlisted_since IS NOT NULL)
      UNION SELECT survey_id FROM _sync.rejected_rows r WHERE account = $1 AND endpoint = 'surveys' AND replayed_at IS NULL
        AND NOT EXISTS (FROM main.surveys s WHERE s.account = r.account AND s.id = r.survey_id)
        AND EXISTS (FROM main.freshness f WHERE f.account = r.account AND f.survey_id = r.survey_id))`,
    [sql.account],
  )
  if (known !== totalCount) return false
  await sql.run('UPDATE _sync.cursors SET counted_at = $2 WHERE account = $1', [sql.account, at])
  return true
}

/** The number of rows on a full page, computed from the last page; null if the listing had only one page. */
const pageRowsOf = ({ page, totalCount, surveys, rejections }: ListingPage): number | null =>
  page < 2 ? null : Math.max(1, Math.round((totalCount - surveys.length - rejections.length) / (page - 1)))
