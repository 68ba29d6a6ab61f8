/**
 * What a refresh writes: everything that was read of some surveys, with their pending rows, the end of their tasks and
 * as of when they are known, in one transaction. Readers never see a survey's sources without the progress that was
 * read with them.
 */
import { z } from 'zod'
import type { Column } from '../model/columns.js'
import type { RowCounts } from '../model/run.js'
import { pendingSurveys, tasks } from '../model/sync-tables.js'
import { freshness } from '../model/tables.js'
import type { BundleOutcome, CellRow, RefreshedBundle, RowCountsByTable } from '../model/warehouse.js'
import { bigintCell } from './cells.js'
import type { Sql } from './database.js'
import { createTemporary, qualified, quote } from './ddl.js'
import { addCounts, markMissing, mergeStaged, NO_ROWS, upsert } from './merge.js'
import { sameKey } from './merge-sql.js'
import {
  mergedSampleSourceProgress,
  mergedSampleSources,
  mergedSurveyProgress,
  mergedSurveys,
} from './merged-tables.js'
import { storeDrift, storeRejections } from './quarantine.js'

const OUTCOME_COLUMNS: readonly Column[] = [
  { name: 'account', type: 'VARCHAR', nullable: false, comment: '' },
  { name: 'survey_id', type: 'BIGINT', nullable: false, comment: '' },
  { name: '_read_at', type: 'TIMESTAMPTZ', nullable: false, comment: '' },
  { name: 'kind', type: 'VARCHAR', nullable: false, comment: '' },
  { name: 'error', type: 'VARCHAR', nullable: true, comment: '' },
  { name: 'requests_needed', type: 'BIGINT', nullable: true, comment: '' },
  { name: 'sources_known', type: 'BOOLEAN', nullable: true, comment: '' },
  { name: 'source_progress_read', type: 'VARCHAR', nullable: true, comment: '' },
]

const LISTED_SOURCE_COLUMNS: readonly Column[] = [
  { name: 'survey_id', type: 'BIGINT', nullable: false, comment: '' },
  { name: 'id', type: 'BIGINT', nullable: false, comment: '' },
]

export const commitBundles = async (
  sql: Sql,
  account: string,
  outcomes: readonly BundleOutcome[],
  runId: string,
): Promise<RowCountsByTable> => {
  const refreshed = outcomes.filter((outcome) => outcome.kind === 'refreshed')
  await sql.run(createTemporary('outcomes', OUTCOME_COLUMNS))
  await sql.append(
    'outcomes',
    OUTCOME_COLUMNS,
    outcomes.map((outcome) => outcomeRow(account, outcome)),
  )
  for (const bundle of refreshed) {
    const stamp = { runId, at: bundle.at }
    await storeRejections(sql, account, bundle.rejections, stamp)
    await storeDrift(sql, account, bundle.drift, stamp)
  }
  const counts = {
    surveys: await mergePending(sql),
    sample_sources: await upsert(sql, mergedSampleSources, sourceRows(account, refreshed)),
    survey_progress: await upsert(sql, mergedSurveyProgress, progressRows(account, refreshed)),
    sample_source_progress: await upsert(
      sql,
      mergedSampleSourceProgress,
      sourceProgressRows(account, refreshed),
    ),
  }
  const gone = outcomes.some(({ kind }) => kind === 'gone') ? await markGoneSurveys(sql) : 0
  if (refreshed.length > 0) await markUnlistedSources(sql, refreshed)
  await updateFreshness(sql)
  await endTasks(sql)
  if (outcomes.some(({ kind }) => kind === 'failed' || kind === 'oversized')) await keepTasks(sql, runId)
  return { ...counts, surveys: addCounts(counts.surveys, { ...NO_ROWS, changed: gone }) }
}

const outcomeRow = (account: string, outcome: BundleOutcome): CellRow => ({
  account,
  survey_id: outcome.surveyId,
  _read_at: outcome.at,
  kind: outcome.kind,
  error: outcome.kind === 'failed' ? outcome.error : null,
  requests_needed: outcome.kind === 'oversized' ? outcome.requestsNeeded : null,
  sources_known: outcome.kind === 'refreshed' ? outcome.listedSourceIds !== null : null,
  source_progress_read: outcome.kind === 'refreshed' ? outcome.sourceProgressRead : null,
})

/** Survey rows that waited for this refresh; also those of a survey that turned out to be gone. */
const mergePending = async (sql: Sql): Promise<RowCounts> => {
  const { key, values, stageColumns } = mergedSurveys
  const settled = `${qualified(pendingSurveys)} p JOIN temp.outcomes o ON o.account = p.account AND o.survey_id = p.id AND o.kind IN ('refreshed', 'gone')`
  const waiting = await sql.rows(z.object({ id: bigintCell }), `SELECT p.id FROM ${settled}`)
  if (waiting.length === 0) return NO_ROWS
  const columns = [...key, ...values].map(({ name }) => `p.${quote(name)}`).join(', ')
  await sql.run(createTemporary(mergedSurveys.stage, stageColumns))
  await sql.run(`INSERT INTO temp.${mergedSurveys.stage} SELECT ${columns}, p._synced_at FROM ${settled}`)
  await sql.run(
    `DELETE FROM ${qualified(pendingSurveys)} p USING temp.${mergedSurveys.stage} s WHERE ${sameKey(key, 'p', 's')}`,
  )
  return mergeStaged(sql, mergedSurveys)
}

const sourceRows = (account: string, bundles: readonly RefreshedBundle[]): readonly CellRow[] =>
  bundles.flatMap(({ surveyId, at, sources }) =>
    sources.map((source) => ({ account, survey_id: surveyId, ...source, _read_at: at })),
  )

const progressRows = (account: string, bundles: readonly RefreshedBundle[]): readonly CellRow[] =>
  bundles.flatMap(({ surveyId, at, progress }) =>
    progress === null ? [] : [{ account, survey_id: surveyId, ...progress, _read_at: at }],
  )

const sourceProgressRows = (account: string, bundles: readonly RefreshedBundle[]): readonly CellRow[] =>
  bundles.flatMap(({ surveyId, sourceProgress }) =>
    sourceProgress.map(({ sampleSourceId, progress, at }) => ({
      account,
      survey_id: surveyId,
      sample_source_id: sampleSourceId,
      ...progress,
      _read_at: at,
    })),
  )

/** The API no longer shows these surveys, nor anything of theirs. */
const markGoneSurveys = async (sql: Sql): Promise<number> => {
  const gone = (idColumn: string) =>
    `temp.outcomes r ON r.account = t.account AND r.survey_id = t.${quote(idColumn)} AND r.kind = 'gone'`
  for (const table of [mergedSampleSources, mergedSurveyProgress, mergedSampleSourceProgress]) {
    await markMissing(sql, table, gone('survey_id'), 'true')
  }
  return markMissing(sql, mergedSurveys, gone('id'), 'true')
}

const markUnlistedSources = async (sql: Sql, bundles: readonly RefreshedBundle[]): Promise<void> => {
  await sql.run(createTemporary('listed_sources', LISTED_SOURCE_COLUMNS))
  await sql.append(
    'listed_sources',
    LISTED_SOURCE_COLUMNS,
    bundles.flatMap(({ surveyId, listedSourceIds }) =>
      (listedSourceIds ?? []).map((id) => ({ survey_id: surveyId, id })),
    ),
  )
  const read = 'temp.outcomes r ON r.account = t.account AND r.survey_id = t.survey_id AND r.sources_known'
  const unlisted = (idColumn: string) =>
    `NOT EXISTS (SELECT 1 FROM temp.listed_sources l WHERE l.survey_id = t.survey_id AND l.id = t.${quote(idColumn)})`
  await markMissing(sql, mergedSampleSources, read, unlisted('id'))
  await markMissing(sql, mergedSampleSourceProgress, read, unlisted('sample_source_id'))
}

const updateFreshness = (sql: Sql): Promise<void> =>
  sql.run(`MERGE INTO ${qualified(freshness)} f
    USING (SELECT * FROM temp.outcomes WHERE kind <> 'oversized') o ON f.account = o.account AND f.survey_id = o.survey_id
    WHEN MATCHED THEN UPDATE SET last_error = o.error,
      refreshed_at = CASE WHEN o.kind = 'failed' THEN f.refreshed_at ELSE o._read_at END,
      source_progress_read_at = CASE o.source_progress_read WHEN 'all' THEN o._read_at WHEN 'some' THEN NULL
        ELSE f.source_progress_read_at END
    WHEN NOT MATCHED THEN INSERT (account, survey_id, refreshed_at, source_progress_read_at, last_error)
      VALUES (o.account, o.survey_id, CASE WHEN o.kind = 'failed' THEN NULL ELSE o._read_at END,
        CASE WHEN o.source_progress_read = 'all' THEN o._read_at END, o.error)`)

const endTasks = (sql: Sql): Promise<void> =>
  sql.run(`DELETE FROM ${qualified(tasks)} t USING temp.outcomes o
    WHERE t.account = o.account AND t.survey_id = o.survey_id AND o.kind IN ('refreshed', 'gone')`)

/** Tasks that stay queued, with why. */
const keepTasks = (sql: Sql, runId: string): Promise<void> =>
  sql.run(
    `MERGE INTO ${qualified(tasks)} t USING (SELECT * FROM temp.outcomes WHERE kind IN ('failed', 'oversized')) o
      ON t.account = o.account AND t.survey_id = o.survey_id
      WHEN MATCHED AND o.kind = 'failed' THEN UPDATE SET attempts = t.attempts + 1, last_error = o.error, last_run_id = $1
      WHEN MATCHED THEN UPDATE SET requests_needed = o.requests_needed`,
    [runId],
  )
