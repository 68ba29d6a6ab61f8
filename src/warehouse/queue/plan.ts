/** Reads the input of the queue and of a plan: every survey with the facts that decide its requests, and the past runs. */
import { z } from 'zod'
import type { DailyWindows } from '../../model/daily-windows.js'
import { type Instant, msBetween } from '../../model/instant.js'
import type { PastRuns, PlannedSurvey } from '../../model/plan-facts.js'
import { TASK_REASONS } from '../../model/request-usage.js'
import { bigintCell, booleanCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { readPosition } from './listing.js'
import { isReadAgain } from './stored-days.js'

const surveyRow = z
  .object({
    id: bigintCell,
    status: varcharCell,
    createdAt: timestamptzCell,
    updatedAt: timestamptzCell,
    refreshedAt: timestamptzCell.nullable(),
    progressChangedAt: timestamptzCell.nullable(),
    missing: booleanCell,
    sources: bigintCell,
    sourcesReadAt: timestamptzCell.nullable(),
    sourceProgressReadAt: timestamptzCell.nullable(),
    moved: booleanCell.nullable(),
    daysOpen: bigintCell,
    reason: z.enum(TASK_REASONS).nullable(),
    enqueuedAt: timestamptzCell.nullable(),
    runId: varcharCell.nullable(),
    requestsNeeded: bigintCell.nullable(),
    refusals: bigintCell,
    refusedAt: timestamptzCell.nullable(),
  })
  .transform(
    ({ reason, enqueuedAt, runId, requestsNeeded, refusals, refusedAt, ...survey }): PlannedSurvey => ({
      ...survey,
      task:
        reason === null || enqueuedAt === null || runId === null
          ? null
          : { reason, enqueuedAt, runId, requestsNeeded, refusals, refusedAt },
    }),
  )

/** Every survey, also missing ones. A survey with a pending row has that row's status and time. */
export const plannedSurveys = (
  sql: Sql,
  account: string,
  windows: DailyWindows | null,
): Promise<readonly PlannedSurvey[]> =>
  sql.rows(
    surveyRow,
    `SELECT s.id, coalesce(w.status, s.status) AS status, s.created_at AS "createdAt",
        coalesce(w.updated_at, s.updated_at) AS "updatedAt", f.refreshed_at AS "refreshedAt",
        CASE WHEN p._observed_at > p._first_seen_at THEN p._observed_at END AS "progressChangedAt",
        s._missing_since IS NOT NULL AS missing, coalesce(c.sources, 0) AS sources, f.sources_read_at AS "sourcesReadAt",
        f.source_progress_read_at AS "sourceProgressReadAt",
        CASE WHEN f.refreshed_at > p._first_seen_at THEN p._observed_at = f.refreshed_at END AS moved,
        coalesce(d.days, 0) AS "daysOpen", t.reason, t.enqueued_at AS "enqueuedAt", t.enqueued_run_id AS "runId",
        t.requests_needed AS "requestsNeeded", coalesce(t.refusals, 0) AS refusals, t.refused_at AS "refusedAt"
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

/** The interval between runs is computed from so many of the last runs. */
const PAST_RUNS_MAX = 8

/** `overlapMs` is the overlap that was subtracted from the cursor. */
export const pastRuns = async (sql: Sql, account: string, overlapMs: number): Promise<PastRuns> => {
  const { cursor, fullListedAt, fullListingDue } = await readPosition(sql, account)
  const [page] = await sql.rows(
    z.object({ page_rows: bigintCell.nullable(), moved_at: timestamptzCell }),
    'SELECT page_rows, moved_at FROM _sync.cursors WHERE account = $1',
    [account],
  )
  const cursors = await sql.rows(
    z.object({ cursor_after: timestamptzCell }),
    `SELECT cursor_after FROM _sync.runs WHERE account = $1 AND command = 'sync' AND cursor_after IS NOT NULL
      GROUP BY ALL ORDER BY cursor_after DESC LIMIT ${PAST_RUNS_MAX}`,
    [account],
  )
  return {
    cursor,
    fullListedAt,
    fullListingDue,
    listedAt: cursor === null ? null : cursor + BigInt(overlapMs) * 1_000n,
    listedAtOurs: page?.moved_at ?? null,
    pageRows: page?.page_rows ?? null,
    everyMs: medianGapMs(cursors.map(({ cursor_after }) => cursor_after)),
  }
}

/** The median gap between `moments`, which are in descending order. */
const medianGapMs = (moments: readonly Instant[]): number | null => {
  const gaps = moments
    .slice(1)
    .map((before, place) => msBetween(before, moments[place] ?? before))
    .toSorted((one, other) => one - other)
  return gaps[Math.floor(gaps.length / 2)] ?? null
}
