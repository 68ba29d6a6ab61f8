/** The report for machines is valid JSON in snake_case and has every field of the run report. */
import { expect, test } from 'vitest'
import { jsonOf } from '../../../../src/commands/text/json.js'
import { runReport, syncReport } from '../reports.js'

test('the JSON has every field of the report in snake_case, with times in ISO 8601 and values unchanged', () => {
  const failingSurveys = [{ surveyId: 7, title: 'Seven', attempts: 2, error: 'answered 404' }]
  const seen = { kind: 'unknown_value', occurrences: 2, firstSeenAt: 0n, isNew: false } as const
  const drift = [{ ...seen, resource: 'survey', path: 'status', value: 'onHold' }]
  const run = runReport({ cursorBefore: null, failing: 1, failingSurveys, drift })
  const json: unknown = JSON.parse(jsonOf(syncReport({ accounts: [run] })))
  expect(json).toEqual({
    status: 'complete',
    exit_code: 0,
    accounts: [
      {
        run_id: 'run-1',
        account: 'acme',
        command: 'sync',
        status: 'complete',
        exit_code: 0,
        has_failures: false,
        reason: null,
        started_at: '2026-03-01T02:00:00Z',
        ended_at: '2026-03-01T02:12:05.250001Z',
        listing: 'incremental',
        cursor_before: null,
        cursor_after: '2026-03-01T01:55:00Z',
        requests_estimated: null,
        requests: 1234,
        request_usage: [],
        spending: [],
        retries: 2,
        refusals: 1,
        pace_interval_ms: null,
        surveys_listed: 250,
        surveys_refreshed: 212,
        surveys_failed: 0,
        left_over: 0,
        failing: 1,
        failing_surveys: [{ survey_id: 7, title: 'Seven', attempts: 2, error: 'answered 404' }],
        rejected_rows: 0,
        drift_events: 0,
        drift: [
          {
            ...{ resource: 'survey', kind: 'unknown_value', path: 'status', value: 'onHold' },
            ...{ occurrences: 2, first_seen_at: '1970-01-01T00:00:00Z', is_new: false },
          },
        ],
        rejections: [],
        history_rows_compacted: 0,
        rows_by_table: {
          surveys: { added: 3, changed: 20, unchanged: 227 },
          sample_sources: { added: 7, changed: 0, unchanged: 1_234_567 },
          survey_progress: { added: 3, changed: 200, unchanged: 9 },
          sample_source_progress: { added: 7, changed: 512, unchanged: 0 },
        },
        replayed: null,
      },
    ],
    published: [{ format: 'duckdb', path: '/data/warehouse/fieldwork.duckdb', bytes: 2_621_440 }],
    publish_error: null,
  })
})
