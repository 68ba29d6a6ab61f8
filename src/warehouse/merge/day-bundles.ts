/** Commits the days of bundles into `survey_progress_by_day`, which has no history. */
import { z } from 'zod'
import type { Instant } from '../../model/instant.js'
import type { RowCounts } from '../../model/run.js'
import type { ReadDays, RefreshedBundle } from '../../model/warehouse.js'
import type { Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { type FreshRow, markMissing, readStored, upsert } from './merge.js'
import { mergedSurveyProgressByDay } from './merged-tables.js'

/** Null if no bundle has days. */
export const mergeDays = async (
  sql: Sql,
  account: string,
  bundles: readonly RefreshedBundle[],
  stored: { readonly hasDays: boolean },
): Promise<RowCounts | null> => {
  const dayBundles = bundles.flatMap((bundle) =>
    bundle.days === undefined ? [] : [{ bundle, days: bundle.days }],
  )
  const counts = dayBundles.length === 0 ? null : await upsertDays(sql, account, dayBundles)
  if (stored.hasDays) await markGoneSources(sql, account, bundles)
  return counts
}

/** Whether any survey of the account has days. Most accounts have none, because the settings do not ask for them. */
export const hasDays = async (sql: Sql, account: string): Promise<boolean> =>
  (
    await sql.rows(
      z.unknown(),
      `SELECT survey_id FROM ${qualified(mergedSurveyProgressByDay.current)} WHERE account = $1 LIMIT 1`,
      [account],
    )
  ).length > 0

const upsertDays = async (
  sql: Sql,
  account: string,
  dayBundles: readonly { readonly bundle: RefreshedBundle; readonly days: ReadDays }[],
): Promise<RowCounts> => {
  const rows = dayBundles.flatMap(({ bundle, days }) => rowsOf(bundle.surveyId, days))
  const [earliest = null] = dayBundles.flatMap(({ days }) => days.rows.map(({ day }) => day.day)).toSorted()
  const ids = dayBundles.map(({ bundle }) => bundle.surveyId)
  // A survey may have days of several years, but a night reads only a few.
  const stored = await readStored(sql, mergedSurveyProgressByDay, account, rows.length === 0 ? [] : ids, {
    notBefore: earliest,
  })
  return upsert(sql, mergedSurveyProgressByDay, account, { stored, rows })
}

const rowsOf = (surveyId: number, { rows, timeZone }: ReadDays): readonly FreshRow[] =>
  rows.map(({ sampleSourceId, day, progress, at }) => ({
    cells: {
      survey_id: surveyId,
      sample_source_id: sampleSourceId,
      day: day.day,
      time_zone: timeZone,
      started_after: day.startedAfter,
      started_before: day.startedBefore,
      is_final: day.isFinal,
      ...progress,
    },
    readAt: at,
  }))

/** Marks the days of sources that are no longer listed as missing, also in bundles without days. */
const markGoneSources = async (
  sql: Sql,
  account: string,
  bundles: readonly RefreshedBundle[],
): Promise<void> => {
  const listed = new Map(
    bundles
      .filter(({ listedSourceIds }) => listedSourceIds !== null)
      .map((bundle) => [bundle.surveyId, bundle]),
  )
  const stored = await readStored(sql, mergedSurveyProgressByDay, account, [...listed.keys()], {
    keysOnly: true,
  })
  await markMissing(sql, mergedSurveyProgressByDay, account, stored, (row): Instant | null => {
    const bundle = listed.get(Number(row.survey_id))
    const ids = bundle?.listedSourceIds ?? null
    const isListed =
      ids === null || row.sample_source_id === null || ids.includes(Number(row.sample_source_id))
    return bundle === undefined || isListed ? null : bundle.at
  })
}
