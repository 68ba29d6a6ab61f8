/**
 * Commits a listing page in one transaction: its rows, the tasks of changed surveys, and the position of the listing.
 *
 * If the sources and progress of a survey are stored, its changed row waits in `_sync.pending_surveys` for its task. Otherwise a
 * run that stops before the task would show readers the new status beside the old progress. The row of a survey that was never
 * refreshed is merged at once (docs/decisions/0007-changed-row-waits-for-its-bundle.md).
 */
import { z } from 'zod'
import type { Survey } from '../../model/fields.js'
import { NO_ROWS, type RowCounts } from '../../model/run.js'
import type { ListingPage, ListingPageResult, Stamp } from '../../model/warehouse.js'
import { bigintCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { completeListing, rememberListed } from '../queue/listing.js'
import { enqueue } from '../queue/queue.js'
import { isCurrent, upsert } from './merge.js'
import { conditionOnSurveys } from './merge-sql.js'
import { mergedSurveys } from './merged-tables.js'
import { addPending, dropPending, readPending } from './pending-surveys.js'
import { storeDrift, storeRejections } from './quarantine.js'
import { differs, readStored, rowKey, type StoredRows } from './stored-rows.js'

export const commitListingPage = async (
  sql: Sql,
  account: string,
  page: ListingPage,
): Promise<ListingPageResult> => {
  await storeRejections(sql, account, page.rejections, page)
  await storeDrift(sql, account, page.drift, page)
  const merged = await mergeListedSurveys(sql, account, page)
  await rememberListed(sql, account, page)
  const notListed = page.nextPage === null ? await completeListing(sql, account, page) : 0
  return { ...merged, notListed }
}

/** Survey rows that were read at one time, at most one of each survey. */
interface ReadSurveys extends Stamp {
  readonly surveys: readonly Survey[]
}

/** Merges the rows or makes them pending, and queues the surveys that changed. */
export const mergeListedSurveys = async (
  sql: Sql,
  account: string,
  read: ReadSurveys,
): Promise<Pick<ListingPageResult, 'rows' | 'queued'>> => {
  const stored = await readStored(sql, mergedSurveys, account, idsOf(read.surveys))
  const notable = await notableSurveys(sql, account, read.surveys, stored)
  const rows = await mergeNotable(sql, account, notable, read, stored)
  return { rows, queued: notable.filter(({ changed }) => changed).length }
}

const idsOf = (surveys: readonly Survey[]): readonly number[] => surveys.map(({ id }) => id)

interface ListedSurvey {
  readonly survey: Survey
  /** Whether an older version is pending. */
  readonly pending: boolean
  /** Whether it differs from the newest version, stored or pending. */
  readonly changed: boolean
  /** Whether the new version waits for the survey's task, because sources and progress are stored with the old one. */
  readonly waits: boolean
}

/** The listed surveys that changed or have pending rows: in most nights, hardly any. */
const notableSurveys = async (
  sql: Sql,
  account: string,
  surveys: readonly Survey[],
  stored: StoredRows,
): Promise<readonly ListedSurvey[]> => {
  const pendingRows = await readPending(sql, account, idsOf(surveys))
  const compared = surveys.map((survey) => {
    const before = stored.get(rowKey(mergedSurveys, survey))
    const waiting = pendingRows.get(survey.id)
    const differsFromStored = before === undefined || !isCurrent(mergedSurveys, before, survey)
    return {
      survey,
      pending: waiting !== undefined,
      changed:
        waiting === undefined ? differsFromStored : differs(mergedSurveys.values, survey, waiting.cells),
      replaces: before !== undefined && differsFromStored,
    }
  })
  const replacing = compared.filter(({ replaces }) => replaces).map(({ survey }) => survey)
  const refreshed = await refreshedOf(sql, account, idsOf(replacing))
  return compared
    .map((one) => ({ ...one, waits: one.replaces && refreshed.has(one.survey.id) }))
    .filter(({ pending, changed, waits }) => pending || changed || waits)
}

/** The surveys of these whose sources and progress are stored. */
const refreshedOf = async (
  sql: Sql,
  account: string,
  surveyIds: readonly number[],
): Promise<ReadonlySet<number>> => {
  if (surveyIds.length === 0) return new Set()
  const condition = conditionOnSurveys(account, surveyIds)
  const rows = await sql.rows(
    z.object({ survey_id: bigintCell }),
    `SELECT survey_id FROM main.freshness
      WHERE ${condition.on('survey_id')} AND refreshed_at IS NOT NULL`,
    condition.parameters,
  )
  return new Set(rows.map(({ survey_id }) => survey_id))
}

const mergeNotable = async (
  sql: Sql,
  account: string,
  notable: readonly ListedSurvey[],
  page: ReadSurveys,
  stored: StoredRows,
): Promise<RowCounts> => {
  if (notable.length === 0) return { ...NO_ROWS, unchanged: page.surveys.length }
  const waiting = notable.filter(({ waits }) => waits).map(({ survey }) => survey)
  // An equal pending row stays as it is, because its version began when it was first read.
  const moved = notable.filter(({ pending, changed, waits }) => changed || !pending || !waits)
  // Pending rows are older than the rows that were just read, even if those equal the stored rows again.
  await dropPending(sql, account, idsOf(moved.filter(({ pending }) => pending).map(({ survey }) => survey)))
  await addPending(
    sql,
    account,
    moved.filter(({ waits }) => waits).map(({ survey }) => survey),
    page.at,
  )
  const changed = notable.filter((survey) => survey.changed)
  await enqueue(
    sql,
    account,
    changed.map(({ survey: { id } }) => ({ surveyId: id, reason: 'changed' })),
    page,
  )
  const waitingIds = new Set(idsOf(waiting))
  const rows = page.surveys
    .filter(({ id }) => !waitingIds.has(id))
    .map((survey) => ({ cells: { account, ...survey }, readAt: page.at }))
  return upsert(sql, mergedSurveys, stored, rows)
}
