/**
 * Stores quarantined rows that a newer version can type. A survey row is merged as of its reading. Sources and progress belong to the rows
 * that were read with them, so their survey is queued instead. A row never overwrites a reading that is newer or may be newer
 * (docs/decisions/warehouse.md#0039-a-replay-merges-nothing-older-than-the-stored-rows).
 */
import { z } from 'zod'
import type { Instant } from '../../model/instant.js'
import type { ReplayResult } from '../../model/run.js'
import { ENDPOINTS } from '../../model/survey-source.js'
import { rejectedRows } from '../../model/sync-tables.js'
import type { QuarantinedRow, ReplayedBatch, RetypedRow, Stamp } from '../../model/warehouse.js'
import { believed } from '../../rules/believed.js'
import { bigintCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { AccountSql, Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { mergeReadSurveys } from '../merge/listing-pages.js'
import { storeDrift } from '../merge/quarantine.js'
import { noteListed } from '../queue/listing.js'
import { enqueue } from '../queue/tasks.js'
import { requireFullListing } from '../queue/unlisted-surveys.js'

/** The approximate rows of a batch, which always contains all rows of its last reading. */
const BATCH_ROWS = 500

/** The accounts with rows that were not replayed yet. */
export const accountsInQuarantine = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql.rows(
    z.object({ account: varcharCell }),
    'SELECT DISTINCT account FROM _sync.rejected_rows WHERE replayed_at IS NULL ORDER BY account',
  )
  return rows.map(({ account }) => account)
}

type Read = <Result>(work: (sql: AccountSql) => Promise<Result>) => Promise<Result>

/** Batches in the order of reading. All rows of one reading are in one batch. */
export async function* quarantinedRows(read: Read): AsyncIterable<readonly QuarantinedRow[]> {
  const batches = await read((sql) =>
    sql.rows(
      z.object({ from: timestamptzCell, to: timestamptzCell }),
      `SELECT min(rejected_at) AS "from", max(rejected_at) AS "to" FROM (
        SELECT rejected_at, (sum(count(*)) OVER (ORDER BY rejected_at) - count(*)) // ${BATCH_ROWS} AS batch
        FROM _sync.rejected_rows WHERE account = $1 AND replayed_at IS NULL GROUP BY rejected_at)
      GROUP BY batch ORDER BY batch`,
      [sql.account],
    ),
  )
  for (const { from, to } of batches)
    yield await read((sql) => sql.rows(quarantinedRow, SELECT_BETWEEN, [sql.account, from, to]))
}

const quarantinedRow = z.object({
  runId: varcharCell,
  rejectedAt: timestamptzCell,
  endpoint: z.enum(ENDPOINTS),
  surveyId: bigintCell.nullable(),
  sampleSourceId: bigintCell.nullable(),
  raw: varcharCell,
})

const SELECT_BETWEEN = `SELECT run_id AS "runId", rejected_at AS "rejectedAt", endpoint, survey_id AS "surveyId",
    sample_source_id AS "sampleSourceId", raw FROM _sync.rejected_rows
  WHERE account = $1 AND replayed_at IS NULL AND rejected_at BETWEEN $2 AND $3
  ORDER BY rejected_at, run_id, endpoint, survey_id, sample_source_id`

export const commitReplay = async (
  sql: AccountSql,
  rows: readonly RetypedRow[],
  replay: Stamp,
): Promise<ReplayedBatch> => {
  const ids = rows.flatMap((row) => surveyIdOf(row) ?? [])
  const stored = await readStates(sql, ids)
  const surveyRows = rows.filter(({ survey }) => survey !== null)
  const datedAhead = surveyRows.filter(({ rejectedAt }) => believed(rejectedAt, replay.at) === null)
  // Rows are in the order of reading, so the last row of a survey is the newest.
  const dated = surveyRows.filter((row) => !datedAhead.includes(row))
  const newest = new Set(new Map(dated.map((row) => [row.survey?.id, row])).values())
  const resultOf = (row: RetypedRow): ReplayResult => {
    const state = stored.get(surveyIdOf(row) ?? -1)
    if (row.survey !== null) return newest.has(row) && isNewestSurveyRow(row, state) ? 'merged' : 'outdated'
    return isLastReading(row, state) ? 'queued' : 'outdated'
  }
  const results = new Map(rows.map((row) => [row, resultOf(row)]))
  const rowsThatAre = (result: ReplayResult) => rows.filter((row) => results.get(row) === result)
  const [merged, queued] = [rowsThatAre('merged'), rowsThatAre('queued')]
  const counts = await mergeSurveys(sql, merged, replay.runId)
  // The place of a never refreshed survey in the queue follows from the time of its last reading.
  const readings = new Map(queued.map(({ surveyId, rejectedAt }) => [surveyId ?? -1, rejectedAt]))
  const tasks = [...readings].map(([surveyId, at]) => ({ surveyId, reason: 'changed' as const, at }))
  await enqueue(sql, tasks, replay.runId)
  // The true times of these readings are unknown. A full listing shows the current rows.
  if (datedAhead.length > 0) await requireFullListing(sql)
  await mark(sql, results, replay)
  const outdated = rows.length - merged.length - queued.length
  return { merged: merged.length, queued: queued.length, outdated, rows: counts }
}

const surveyIdOf = (row: RetypedRow): number | null => row.survey?.id ?? row.surveyId

type StoredState = z.output<typeof stateRow>
const stateRow = z.object({
  id: bigintCell,
  status: varcharCell.nullable(),
  dated_at: timestamptzCell.nullable(),
  missing_since: timestamptzCell.nullable(),
  pending_at: timestamptzCell.nullable(),
  listed_at: timestamptzCell.nullable(),
  refreshed_at: timestamptzCell.nullable(),
})

const readStates = async (
  sql: AccountSql,
  surveyIds: readonly number[],
): Promise<ReadonlyMap<number, StoredState>> => {
  const rows = await sql.rows(
    stateRow,
    `SELECT i.id, s.status, s._synced_at AS dated_at, s._missing_since AS missing_since, p._synced_at AS pending_at,
        f.listed_at, f.refreshed_at
      FROM (SELECT DISTINCT unnest(CAST($2::JSON AS BIGINT[])) AS id) i
      LEFT JOIN main.surveys s ON s.account = $1 AND s.id = i.id
      LEFT JOIN _sync.pending_surveys p ON p.account = $1 AND p.id = i.id
      LEFT JOIN main.freshness f ON f.account = $1 AND f.survey_id = i.id`,
    [sql.account, JSON.stringify(surveyIds)],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * Whether no reading of the survey is as new as the row, except the listing that showed the row itself. A later listing may have shown the
 * stored row again, which only `listed_at` records.
 */
const isNewestSurveyRow = ({ rejectedAt }: RetypedRow, stored: StoredState | undefined): boolean =>
  [stored?.dated_at, stored?.missing_since, stored?.pending_at].every((at) => isBefore(at, rejectedAt)) &&
  !isBefore(rejectedAt, stored?.listed_at)

/** Whether no later refresh has read the same part again, as a typed row or another quarantined row. */
const isLastReading = ({ rejectedAt }: RetypedRow, stored: StoredState | undefined): boolean =>
  stored !== undefined &&
  stored.status !== null &&
  stored.missing_since === null &&
  !isBefore(rejectedAt, stored.refreshed_at)

/** A missing `at` is before every time. No time is before a missing `other`. */
const isBefore = (at: Instant | null | undefined, other: Instant | null | undefined): boolean =>
  other !== null && other !== undefined && (at === null || at === undefined || at < other)

const mergeSurveys = async (sql: AccountSql, rows: readonly RetypedRow[], runId: string) => {
  const surveys = rows.flatMap(({ survey, rejectedAt: at }) => (survey === null ? [] : [{ survey, at }]))
  const counts = await mergeReadSurveys(sql, surveys, runId)
  const listed = surveys.map(({ survey, at }) => ({ surveyId: survey.id, at }))
  await noteListed(sql, listed)
  for (const at of new Set(rows.map(({ rejectedAt }) => rejectedAt))) {
    const drift = rows.flatMap((row) => (row.rejectedAt === at ? row.drift : []))
    await storeDrift(sql, drift, { runId, at })
  }
  return counts
}

const STAGE = 'stage_replayed_rows'

const mark = async (
  sql: AccountSql,
  results: ReadonlyMap<RetypedRow, ReplayResult>,
  { runId, at }: Stamp,
): Promise<void> => {
  const marks = [...results].map(([row, result]) => ({
    account: sql.account,
    run_id: row.runId,
    endpoint: row.endpoint,
    survey_id: row.surveyId,
    sample_source_id: row.sampleSourceId,
    raw: row.raw,
    replayed_at: at,
    replayed_run_id: runId,
    replay_result: result,
  }))
  await sql.stage(STAGE, rejectedRows.columns, marks)
  // A run stores a row only once: these columns identify it.
  await sql.run(`UPDATE ${qualified(rejectedRows)} r
    SET replayed_at = s.replayed_at, replayed_run_id = s.replayed_run_id, replay_result = s.replay_result
    FROM temp.${STAGE} s WHERE r.run_id = s.run_id AND r.account = s.account AND r.endpoint = s.endpoint AND r.raw = s.raw
      AND r.survey_id IS NOT DISTINCT FROM s.survey_id AND r.sample_source_id IS NOT DISTINCT FROM s.sample_source_id`)
}
