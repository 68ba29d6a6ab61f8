/** What the queue and a plan go by: every survey with what its requests depend on, and what is known of the runs before. */
import { z } from 'zod'
import type { DailyWindows } from '../../model/daily-windows.js'
import { type Instant, msBetween } from '../../model/instant.js'
import type { PastRuns, PlannedSurvey } from '../../model/plan-facts.js'
import { bigintCell, booleanCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { readPosition } from './listing.js'
import { taskReason } from './queue.js'
import { isReadAgain } from './stored-days.js'

const surveyRow = z
  .object({
    id: bigintCell,
    status: varcharCell,
    created_at: timestamptzCell,
    updated_at: timestamptzCell,
    refreshed_at: timestamptzCell.nullable(),
    progress_changed_at: timestamptzCell.nullable(),
    missing: booleanCell,
    sources: bigintCell,
    sources_read_at: timestamptzCell.nullable(),
    source_progress_read_at: timestamptzCell.nullable(),
    moved: booleanCell.nullable(),
    days_open: bigintCell,
    reason: taskReason.nullable(),
    enqueued_at: timestamptzCell.nullable(),
    enqueued_run_id: varcharCell.nullable(),
    requests_needed: bigintCell.nullable(),
    refusals: bigintCell,
    refused_at: timestamptzCell.nullable(),
  })
  .transform(
    (row): PlannedSurvey => ({
      id: row.id,
      status: row.status,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      refreshedAt: row.refreshed_at,
      progressChangedAt: row.progress_changed_at,
      missing: row.missing,
      sources: row.sources,
      sourcesReadAt: row.sources_read_at,
      sourceProgressReadAt: row.source_progress_read_at,
      moved: row.moved,
      daysOpen: row.days_open,
      task:
        row.reason === null || row.enqueued_at === null || row.enqueued_run_id === null
          ? null
          : {
              reason: row.reason,
              enqueuedAt: row.enqueued_at,
              runId: row.enqueued_run_id,
              requestsNeeded: row.requests_needed,
              refusals: row.refusals,
              refusedAt: row.refused_at,
            },
    }),
  )

/** Every survey, also those that are missing; one that waits for its task with the status that it will have. */
export const plannedSurveys = (
  sql: Sql,
  account: string,
  windows: DailyWindows | null,
): Promise<readonly PlannedSurvey[]> =>
  sql.rows(
    surveyRow,
    `SELECT s.id, coalesce(w.status, s.status) AS status, s.created_at, coalesce(w.updated_at, s.updated_at) AS updated_at,
        f.refreshed_at, CASE WHEN p._observed_at > p._first_seen_at THEN p._observed_at END AS progress_changed_at,
        s._missing_since IS NOT NULL AS missing, coalesce(c.sources, 0) AS sources, f.sources_read_at, f.source_progress_read_at,
        CASE WHEN f.refreshed_at > p._first_seen_at THEN p._observed_at = f.refreshed_at END AS moved,
        coalesce(d.days, 0) AS days_open, t.reason, t.enqueued_at, t.enqueued_run_id, t.requests_needed,
        coalesce(t.refusals, 0) AS refusals, t.refused_at
      FROM main.surveys s
      LEFT JOIN _sync.pending_surveys w ON w.account = s.account AND w.id = s.id
      LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
      LEFT JOIN main.survey_progress p ON p.account = s.account AND p.survey_id = s.id
      LEFT JOIN _sync.tasks t ON t.account = s.account AND t.survey_id = s.id
      LEFT JOIN (SELECT survey_id, count(*) AS sources FROM main.sample_sources
        WHERE account = $1 AND _missing_since IS NULL GROUP BY ALL) c ON c.survey_id = s.id
      LEFT JOIN (SELECT survey_id, count(*) AS days FROM main.survey_progress_by_day
        WHERE account = $1 AND ${windows === null ? 'false' : isReadAgain(windows)} GROUP BY ALL) d ON d.survey_id = s.id
      WHERE s.account = $1`,
    [account],
  )

/** How many of the last runs tell how far apart runs are. */
const RUNS_LOOKED_AT = 8

/** `overlapMs` is what the cursor was set back by. */
export const pastRuns = async (sql: Sql, account: string, overlapMs: number): Promise<PastRuns> => {
  const { cursor, fullListedAt, fullListingWanted } = await readPosition(sql, account)
  const [page] = await sql.rows(
    z.object({ page_rows: bigintCell.nullable(), moved_at: timestamptzCell }),
    'SELECT page_rows, moved_at FROM _sync.cursors WHERE account = $1',
    [account],
  )
  const cursors = await sql.rows(
    z.object({ cursor_after: timestamptzCell }),
    `SELECT cursor_after FROM _sync.runs WHERE account = $1 AND command = 'sync' AND cursor_after IS NOT NULL
      GROUP BY ALL ORDER BY cursor_after DESC LIMIT ${RUNS_LOOKED_AT}`,
    [account],
  )
  return {
    cursor,
    fullListedAt,
    fullListingWanted,
    listedAt: cursor === null ? null : cursor + BigInt(overlapMs) * 1_000n,
    listedAtOurs: page?.moved_at ?? null,
    pageRows: page?.page_rows ?? null,
    everyMs: medianGapMs(cursors.map(({ cursor_after }) => cursor_after)),
  }
}

/** Of moments in descending order. */
const medianGapMs = (moments: readonly Instant[]): number | null => {
  const gaps = moments
    .slice(1)
    .map((before, place) => msBetween(before, moments[place] ?? before))
    .toSorted((one, other) => one - other)
  return gaps[Math.floor(gaps.length / 2)] ?? null
}
