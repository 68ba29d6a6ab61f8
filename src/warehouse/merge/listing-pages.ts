/**
 * Commits pages of a listing in one transaction: their rows, the tasks of changed surveys, and the position of the listing.
 *
 * If the sources and progress of a survey are stored, its changed row waits in `_sync.pending_surveys` for its task. Otherwise a
 * run that stops before the task would show readers the new status beside the old progress. The row of a survey that was never
 * refreshed is merged at once (docs/decisions/bundles-and-refusals.md#0007-a-changed-survey-row-waits-for-its-bundle).
 */
import { z } from 'zod'
import type { Survey } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import { addCounts, NO_ROWS, type RowCounts } from '../../model/run.js'
import type { ListingPage } from '../../model/warehouse.js'
import { bigintCell } from '../connection/cells.js'
import type { AccountSql } from '../connection/database.js'
import { completeListing, lastOf, rememberListed } from '../queue/listing.js'
import { enqueue } from '../queue/tasks.js'
import {
  conditionOnSurveys,
  differs,
  isCurrent,
  readStored,
  rowKey,
  type StoredRows,
  upsert,
} from './merge.js'
import { mergedSurveys } from './merged-tables.js'
import { storeDrift, storeRejections } from './quarantine.js'
import { addPending, dropPending, readPending } from './stored-surveys.js'

/** `pages` has at least one page, in the order of reading. */
export const commitListingPages = async (
  sql: AccountSql,
  pages: readonly ListingPage[],
): Promise<RowCounts> => {
  for (const page of pages) {
    await storeRejections(sql, page.rejections, page)
    await storeDrift(sql, page.drift, page)
  }
  const surveys = pages.flatMap((page) => page.surveys.map((survey) => ({ survey, at: page.at })))
  const rows = await mergeReadSurveys(sql, surveys, lastOf(pages).runId)
  await rememberListed(sql, pages)
  await completeListing(sql, pages)
  return rows
}

interface ReadSurvey {
  readonly survey: Survey
  readonly at: Instant
}

/**
 * Merges the rows or makes them pending, and queues the surveys that changed. `surveys` are in the order of reading; a survey may
 * occur several times, because rows move between pages.
 */
export const mergeReadSurveys = async (
  sql: AccountSql,
  surveys: readonly ReadSurvey[],
  runId: string,
): Promise<RowCounts> => {
  let rows = NO_ROWS
  for (const distinct of withoutRepetitions(surveys)) {
    const stored = await readStored(sql, mergedSurveys, idsOf(distinct))
    const compared = await changedOrPending(sql, distinct, stored)
    await updatePendingAndQueue(sql, compared, runId)
    const waiting = new Set(idsOf(compared.filter(({ waits }) => waits)))
    const read = distinct.flatMap(({ survey, at }) =>
      waiting.has(survey.id) ? [] : [{ cells: survey, readAt: at }],
    )
    rows = addCounts(rows, await upsert(sql, mergedSurveys, stored.values(), read))
  }
  return rows
}

/** Splits the rows into parts, so that no part has a survey twice. */
const withoutRepetitions = (surveys: readonly ReadSurvey[]): readonly (readonly ReadSurvey[])[] => {
  const parts: Map<number, ReadSurvey>[] = []
  for (const read of surveys) {
    const part = parts.at(-1)
    if (part === undefined || part.has(read.survey.id)) parts.push(new Map([[read.survey.id, read]]))
    else part.set(read.survey.id, read)
  }
  return parts.map((part) => [...part.values()])
}

const idsOf = (surveys: readonly ReadSurvey[]): readonly number[] => surveys.map(({ survey }) => survey.id)

/**
 * `changed`: the row differs from the newest version, stored or pending. `waits`: the new version waits for the survey's task, because
 * sources and progress are stored with the old version.
 */
type ComparedSurvey = Awaited<ReturnType<typeof changedOrPending>>[number]

/** The listed surveys that changed or have pending rows: in most nights, hardly any. */
const changedOrPending = async (sql: AccountSql, surveys: readonly ReadSurvey[], stored: StoredRows) => {
  const pendingRows = await readPending(sql, idsOf(surveys))
  const compared = surveys.map(({ survey, at }) => {
    const before = stored.get(rowKey(mergedSurveys, survey))
    const pending = pendingRows.get(survey.id)
    const differsFromStored = before === undefined || !isCurrent(mergedSurveys, before, survey)
    const changed =
      pending === undefined ? differsFromStored : differs(mergedSurveys.values, survey, pending.cells)
    const replaces = before !== undefined && differsFromStored
    return { survey, at, pending: pending !== undefined, changed, replaces }
  })
  const refreshed = await refreshedOf(sql, idsOf(compared.filter(({ replaces }) => replaces)))
  return compared
    .map((row) => ({ ...row, waits: row.replaces && refreshed.has(row.survey.id) }))
    .filter(({ pending, changed, waits }) => pending || changed || waits)
}

/** The surveys among `surveyIds` whose sources and progress are stored. */
const refreshedOf = async (sql: AccountSql, surveyIds: readonly number[]): Promise<ReadonlySet<number>> => {
  if (surveyIds.length === 0) return new Set()
  const condition = conditionOnSurveys(sql.account, surveyIds)
  const rows = await sql.rows(
    z.object({ survey_id: bigintCell }),
    `SELECT survey_id FROM main.freshness WHERE ${condition.on('survey_id')} AND refreshed_at IS NOT NULL`,
    condition.parameters,
  )
  return new Set(rows.map(({ survey_id }) => survey_id))
}

const updatePendingAndQueue = async (
  sql: AccountSql,
  compared: readonly ComparedSurvey[],
  runId: string,
): Promise<void> => {
  // An equal pending row stays as it is, because its version began when it was first read.
  const moved = compared.filter(({ pending, changed, waits }) => changed || !pending || !waits)
  // Pending rows are older than the rows that were just read, even if those equal the stored rows again.
  await dropPending(sql, idsOf(moved.filter(({ pending }) => pending)))
  const waiting = moved.filter(({ waits }) => waits)
  await addPending(sql, waiting)
  const tasks = compared.flatMap(({ survey, at, changed }) =>
    changed ? [{ surveyId: survey.id, reason: 'changed' as const, at }] : [],
  )
  await enqueue(sql, tasks, runId)
}
