/**
 * What a listing page writes: its rows, the surveys they make due, and the place the listing has reached, in one
 * transaction.
 *
 * A changed row of a survey whose sources and progress are stored waits in `_sync.pending_surveys` for its task: were
 * it merged now and the run stopped before the task, readers would see a survey's new status beside its old
 * progress. A survey that was never read has nothing beside it and is merged at once.
 */
import { z } from 'zod'
import { refreshWeight } from '../model/refresh-rules.js'
import type { RowCounts } from '../model/run.js'
import { pendingSurveys } from '../model/sync-tables.js'
import type { ListingPage, ListingPageResult } from '../model/warehouse.js'
import { bigintCell, booleanCell, varcharCell } from './cells.js'
import type { Sql } from './database.js'
import { qualified, quote } from './ddl.js'
import { completeListing, rememberListed } from './listing.js'
import { mergeStaged, NO_ROWS, stage } from './merge.js'
import { differs, sameKey, storedRows } from './merge-sql.js'
import { mergedSurveys } from './merged-tables.js'
import { storeDrift, storeRejections } from './quarantine.js'
import { enqueue } from './queue.js'

export const commitListingPage = async (
  sql: Sql,
  account: string,
  page: ListingPage,
): Promise<ListingPageResult> => {
  await stage(
    sql,
    mergedSurveys,
    page.surveys.map((survey) => ({ account, ...survey, _read_at: page.at })),
  )
  await storeRejections(sql, account, page.rejections, page)
  await storeDrift(sql, account, page.drift, page)
  const notable = await notableSurveys(sql)
  const rows = await mergeNotable(sql, account, notable, page)
  await rememberListed(sql, account, page)
  const notListed = page.nextPage === null ? await completeListing(sql, account, page) : 0
  return { rows, queued: notable.filter(({ changed }) => changed).length, notListed }
}

interface ListedSurvey {
  readonly id: number
  readonly status: string
  /** Whether it differs from the newest version known, stored or pending. */
  readonly changed: boolean
  /** Whether the new version has to wait for the survey's task: its sources and progress are stored beside the old one. */
  readonly waits: boolean
}

/** The staged surveys that need more than a note that they were listed: in most nights, hardly any. */
const notableSurveys = (sql: Sql): Promise<readonly ListedSurvey[]> => {
  const { key, values } = mergedSurveys
  return sql.rows(
    z.object({ id: bigintCell, status: varcharCell, changed: booleanCell, waits: booleanCell }),
    `SELECT * FROM (
      SELECT s.id, s.status, p.account IS NOT NULL AS pending,
        t.account IS NULL OR t._missing_since IS NOT NULL OR ${differs(values, 't', 's')} AS differs_from_stored,
        CASE WHEN pending THEN ${differs(values, 'p', 's')} ELSE differs_from_stored END AS changed,
        t.account IS NOT NULL AND differs_from_stored AND f.refreshed_at IS NOT NULL AS waits
      FROM temp.stage_surveys s
      LEFT JOIN ${storedRows(mergedSurveys, 't')} ON ${sameKey(key, 't', 's')}
      LEFT JOIN ${qualified(pendingSurveys)} p ON ${sameKey(key, 'p', 's')}
      LEFT JOIN (SELECT x.* FROM main.freshness x JOIN temp.stage_surveys k ON x.account = k.account AND x.survey_id = k.id) f
        ON f.account = s.account AND f.survey_id = s.id
    ) WHERE pending OR changed OR waits`,
  )
}

const mergeNotable = async (
  sql: Sql,
  account: string,
  notable: readonly ListedSurvey[],
  page: ListingPage,
): Promise<RowCounts> => {
  if (notable.length === 0) return { ...NO_ROWS, unchanged: page.surveys.length }
  await setPendingAside(
    sql,
    notable.filter(({ waits }) => waits).map(({ id }) => id),
  )
  const changed = notable.filter((survey) => survey.changed)
  await enqueue(
    sql,
    account,
    changed.map(({ id, status }) => ({ surveyId: id, reason: 'changed', priority: refreshWeight(status) })),
    page,
  )
  return mergeStaged(sql, mergedSurveys)
}

/** Moves the rows of these surveys from the stage to `_sync.pending_surveys`. */
const setPendingAside = async (sql: Sql, surveyIds: readonly number[]): Promise<void> => {
  const { key, values, stageColumns } = mergedSurveys
  const columns = [...key, ...values].map(({ name }) => quote(name))
  // What was pending is older than what was just read, also where that equals the stored row again.
  await sql.run(
    `DELETE FROM ${qualified(pendingSurveys)} p USING temp.stage_surveys s WHERE ${sameKey(key, 'p', 's')}`,
  )
  if (surveyIds.length === 0) return
  const waiting = [JSON.stringify(surveyIds)]
  const isWaiting = 'list_contains(CAST($1::JSON AS BIGINT[]), s.id)'
  await sql.run(
    `INSERT INTO ${qualified(pendingSurveys)} (${columns.join(', ')}, _first_seen_at, _synced_at)
      SELECT ${stageColumns.map(({ name }) => `s.${quote(name)}`).join(', ')}, s._read_at FROM temp.stage_surveys s
      WHERE ${isWaiting}`,
    waiting,
  )
  await sql.run(`DELETE FROM temp.stage_surveys s WHERE ${isWaiting}`, waiting)
}
