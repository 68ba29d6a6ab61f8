/** Stores data problems: rejected rows unchanged, and differences between answers and the API document. */
import type { Drift, Rejection } from '../../model/survey-source.js'
import { driftEvents, rejectedRows } from '../../model/sync-tables.js'
import type { Stamp } from '../../model/warehouse.js'
import type { AccountSql } from '../connection/database.js'
import { qualified, quote, selected } from '../connection/ddl.js'

export const storeRejections = async (
  sql: AccountSql,
  rejections: readonly Rejection[],
  { runId, at }: Stamp,
): Promise<void> => {
  if (rejections.length === 0) return
  const { columns } = rejectedRows
  const ofRun = { account: sql.account, run_id: runId, rejected_at: at }
  const rows = rejections.map(({ surveyId, sampleSourceId, day = null, ...rejection }) => {
    return { ...rejection, ...ofRun, survey_id: surveyId, sample_source_id: sampleSourceId, day }
  })
  await sql.stage('stage_rejected_rows', columns, rows)
  // A row that one run reads twice, on two pages or in a repetition, is one rejected row.
  await sql.run(`INSERT INTO ${qualified(rejectedRows)} BY NAME SELECT DISTINCT ${selected(columns, 's')} FROM temp.stage_rejected_rows s
    WHERE NOT EXISTS (SELECT 1 FROM ${qualified(rejectedRows)} r WHERE r.run_id = s.run_id AND r.account = s.account
      AND r.endpoint = s.endpoint AND r.raw = s.raw AND r.survey_id IS NOT DISTINCT FROM s.survey_id
      AND r.sample_source_id IS NOT DISTINCT FROM s.sample_source_id AND r.day IS NOT DISTINCT FROM s.day)`)
}

export const storeDrift = async (
  sql: AccountSql,
  drift: readonly Drift[],
  { runId, at }: Stamp,
): Promise<void> => {
  if (drift.length === 0) return
  const { columns } = driftEvents
  const times = { first_seen_at: at, first_run_id: runId, last_seen_at: at, last_run_id: runId }
  const events = drift.map((event) => ({ ...event, ...times, account: sql.account, occurrences: 1 }))
  await sql.stage('stage_drift_events', columns, events)
  // Many rows of a page may have the same unknown field, which becomes one event with a count.
  await sql.run(`MERGE INTO ${qualified(driftEvents)} d
    USING (SELECT * REPLACE (sum(occurrences)::BIGINT AS occurrences) FROM temp.stage_drift_events GROUP BY ALL) s
    ON d.account = s.account AND d.resource = s.resource AND d.path = s.path AND d.value IS NOT DISTINCT FROM s.value
      AND d.kind = s.kind
    WHEN MATCHED THEN UPDATE SET occurrences = d.occurrences + s.occurrences,
      last_seen_at = greatest(d.last_seen_at, s.last_seen_at), last_run_id = s.last_run_id
    WHEN NOT MATCHED THEN INSERT (${columns.map(({ name }) => quote(name)).join(', ')}) VALUES (${selected(columns, 's')})`)
}
