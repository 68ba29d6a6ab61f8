/** The report of a run for machines (`--json`): names in snake_case, moments in ISO 8601, nothing left out. */
import { formatInstant, type Instant } from '../../model/instant.js'
import type { RunReport, SyncReport } from '../../model/run.js'

export type SyncReportJson = ReturnType<typeof reportToJson>

export const reportToJson = (report: SyncReport) => ({
  status: report.status,
  exit_code: report.exitCode,
  accounts: report.accounts.map(runToJson),
  published: report.published.map(({ format, path, bytes }) => ({ format, path, bytes })),
  publish_error: report.publishError,
})

const runToJson = (run: RunReport) => ({
  run_id: run.runId,
  account: run.account,
  command: run.command,
  status: run.status,
  exit_code: run.exitCode,
  reason: run.reason,
  started_at: formatInstant(run.startedAt),
  ended_at: formatInstant(run.endedAt),
  listing: run.listing,
  cursor_before: instantText(run.cursorBefore),
  cursor_after: instantText(run.cursorAfter),
  requests_estimated: run.requestsEstimated,
  requests: run.requests,
  retries: run.retries,
  refusals: run.refusals,
  pace_interval_ms: run.paceIntervalMs,
  spending: run.spending,
  surveys_listed: run.surveysListed,
  surveys_refreshed: run.surveysRefreshed,
  surveys_failed: run.surveysFailed,
  left_over: run.leftOver,
  failing: run.failing,
  failing_surveys: run.failingSurveys.map(({ surveyId, title, attempts, error }) => ({
    survey_id: surveyId,
    title,
    attempts,
    error,
  })),
  rejected_rows: run.rejectedRows,
  drift_events: run.driftEvents,
  drift: run.drift.map(({ resource, kind, path, value, occurrences, firstSeenAt, isNew }) => ({
    resource,
    kind,
    path,
    value,
    occurrences,
    first_seen_at: formatInstant(firstSeenAt),
    is_new: isNew,
  })),
  rejections: run.rejections,
  history_rows_compacted: run.historyRowsCompacted,
  rows_by_table: run.rowsByTable,
  replayed: run.replayed,
})

const instantText = (instant: Instant | null): string | null =>
  instant === null ? null : formatInstant(instant)
