/** The queries about the runs, their requests, and the data problems. */
import { z } from 'zod'
import { at, count, maybe, text } from '../rows.js'
import type { Query } from './query.js'

const RUNS_SHOWN = 7

export const run = {
  runs: {
    name: 'runs',
    title: 'The last runs',
    row: z.object({
      ...{ run_id: text, account: text, command: maybe.text, started_at: at, ended_at: maybe.at },
      ...{ seconds: maybe.count, status: text, reason: maybe.text, requests: maybe.count },
      ...{ retries: maybe.count, rate_limited: maybe.count, surveys_refreshed: maybe.count },
      ...{ left_over: maybe.count, rejected_rows: maybe.count },
    }),
    select: `SELECT run_id, account, command, started_at, ended_at, epoch_us(ended_at) // 1000000 - epoch_us(started_at) // 1000000 AS seconds, status,
  reason, requests, retries, rate_limited, surveys_refreshed, left_over, rejected_rows, run_number
FROM _sync.runs
QUALIFY row_number() OVER (PARTITION BY account ORDER BY run_number DESC NULLS LAST) <= ${RUNS_SHOWN}`,
    order: 'run_number DESC NULLS LAST, account ASC',
  },
  requests: {
    name: 'requests',
    title: 'Requests of the last run',
    row: z.object({ account: text, reason: text, made: count, saved: count }),
    select: `SELECT r.account, r.reason, CAST(sum(r.made) AS BIGINT) AS made, CAST(sum(r.saved) AS BIGINT) AS saved
FROM _sync.requests r
JOIN (SELECT account, max_by(run_id, run_number) AS run_id FROM _sync.runs GROUP BY account) n USING (account, run_id)
GROUP BY ALL`,
    order: 'account ASC, made DESC, reason ASC',
  },
  queue: {
    name: 'queue',
    title: 'What waits for the next run',
    row: z.object({ account: text, reason: text, surveys: count, failed: count, oldest_at: at }),
    select: `SELECT account, reason, count(*) AS surveys, count(last_error) AS failed, min(enqueued_at) AS oldest_at
FROM _sync.tasks t
ANTI JOIN (FROM freshness WHERE excluded_by IS NOT NULL) f ON f.account = t.account AND f.survey_id = t.survey_id AND t.reason <> 'missing'
GROUP BY ALL`,
    order: 'account ASC, reason ASC',
  },
  problems: {
    name: 'problems',
    title: 'Problems with data',
    row: z.object({
      ...{ account: text, kind: text, resource: text, what: text },
      ...{ occurrences: count, last_seen_at: at },
    }),
    select: `SELECT account, 'rejected' AS kind, endpoint AS resource, problem AS what, count(*) AS occurrences, max(rejected_at) AS last_seen_at
FROM _sync.rejected_rows
WHERE replayed_at IS NULL
GROUP BY ALL
UNION ALL
SELECT account, kind, resource, (path || coalesce(' = ' || value, '')) COLLATE C AS what, occurrences, last_seen_at
FROM _sync.drift_events`,
    order: 'last_seen_at DESC, account ASC, kind ASC, resource ASC, what ASC',
    limit: 50,
  },
} satisfies Readonly<Record<string, Query>>
