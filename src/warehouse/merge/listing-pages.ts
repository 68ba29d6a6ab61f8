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
import type { ListingPage, ListingPagesResult } from '../../model/warehouse.js'
import { bigintCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
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

/** `pages` are in the order in which they were read, at least one. */
export const commitListingPages = async (
  sql: Sql,
  account: string,
  pages: readonly ListingPage[],
): Promise<ListingPagesResult> => {
  for (const page of pages) {
    await storeRejections(sql, account, page.rejections, page)
    await storeDrift(sql, account, page.drift, page)
  }
  const merged = await mergeReadSurveys(sql, account, readSurveysOn(pages), lastOf(pages).runId)
  await rememberListed(sql, account, pages)
  const notListed = await completeListing(sql, account, pages)
  return { ...merged, notListed }
}

const readSurveysOn = (pages: readonly ListingPage[]): readonly ReadSurvey[] =>
  pages.flatMap(({ surveys, at }) => surveys.map((survey) => ({ survey, at })))

/** A survey row and the server time of its reading. */
export interface ReadSurvey {
  readonly survey: Survey
  readonly at: Instant
}

/**
 * Merges the rows or makes them pending, and queues the surveys that changed. `surveys` are in the order of reading; a survey may
 * occur several times, because rows move between pages.
 */
export const mergeReadSurveys = async (
  sql: Sql,
  account: string,
  surveys: readonly ReadSurvey[],
  runId: string,
): Promise<Pick<ListingPagesResult, 'rows' | 'queued'>> => {
  let rows = NO_ROWS
  let queued = 0
  for (const distinct of withoutRepetitions(surveys)) {
    const ids = distinct.map(({ survey }) => survey.id)
    const stored = await readStored(sql, mergedSurveys, account, ids)
    const notable = await notableSurveys(sql, account, distinct, stored)
    rows = addCounts(rows, await mergeNotable(sql, account, { surveys: distinct, notable, stored, runId }))
    queued += notable.filter(({ changed }) => changed).length
  }
  return { rows, queued }
}

/** Splits the rows where a survey occurs again. */
const withoutRepetitions = (surveys: readonly ReadSurvey[]): readonly (readonly ReadSurvey[])[] => {
  const parts: ReadSurvey[][] = []
  let part: ReadSurvey[] = []
  let ids = new Set<number>()
  for (const read of surveys) {
    if (part.length === 0 || ids.has(read.survey.id)) {
      part = []
      ids = new Set()
      parts.push(part)
    }
    part.push(read)
    ids.add(read.survey.id)
  }
  return parts
}

const idsOf = (surveys: readonly ReadSurvey[]): readonly number[] => surveys.map(({ survey }) => survey.id)

interface ComparedSurvey extends ReadSurvey {
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
  surveys: readonly ReadSurvey[],
  stored: StoredRows,
): Promise<readonly ComparedSurvey[]> => {
  const pendingRows = await readPending(sql, account, idsOf(surveys))
  const compared = surveys.map(({ survey, at }) => {
    const before = stored.get(rowKey(mergedSurveys, survey))
    const waiting = pendingRows.get(survey.id)
    const differsFromStored = before === undefined || !isCurrent(mergedSurveys, before, survey)
    return {
      survey,
      at,
      pending: waiting !== undefined,
      changed:
        waiting === undefined ? differsFromStored : differs(mergedSurveys.values, survey, waiting.cells),
      replaces: before !== undefined && differsFromStored,
    }
  })
  const refreshed = await refreshedOf(sql, account, idsOf(compared.filter(({ replaces }) => replaces)))
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

interface NotableMerge {
  readonly surveys: readonly ReadSurvey[]
  readonly notable: readonly ComparedSurvey[]
  readonly stored: StoredRows
  readonly runId: string
}

const mergeNotable = async (
  sql: Sql,
  account: string,
  { surveys, notable, stored, runId }: NotableMerge,
): Promise<RowCounts> => {
  if (notable.length === 0) return { ...NO_ROWS, unchanged: surveys.length }
  // An equal pending row stays as it is, because its version began when it was first read.
  const moved = notable.filter(({ pending, changed, waits }) => changed || !pending || !waits)
  // Pending rows are older than the rows that were just read, even if those equal the stored rows again.
  await dropPending(sql, account, idsOf(moved.filter(({ pending }) => pending)))
  await addPending(
    sql,
    account,
    moved.filter(({ waits }) => waits),
  )
  const changed = notable.filter((survey) => survey.changed)
  await enqueue(
    sql,
    account,
    changed.map(({ survey, at }) => ({ surveyId: survey.id, reason: 'changed', at })),
    runId,
  )
  const waiting = new Set(idsOf(notable.filter(({ waits }) => waits)))
  const rows = surveys
    .filter(({ survey }) => !waiting.has(survey.id))
    .map(({ survey, at }) => ({ cells: survey, readAt: at }))
  return upsert(sql, mergedSurveys, account, { stored, rows })
}
