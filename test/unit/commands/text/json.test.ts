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
  const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  expect(json).toEqual({
    status: 'complete',
    exit_code: 0,
    accounts: [
      {
        ...Object.fromEntries(Object.entries(run).map(([name, value]) => [snakeCase(name), value])),
        started_at: '2026-03-01T02:00:00Z',
        ended_at: '2026-03-01T02:12:05.250001Z',
        cursor_after: '2026-03-01T01:55:00Z',
        failing_surveys: [{ survey_id: 7, title: 'Seven', attempts: 2, error: 'answered 404' }],
        drift: [
          {
            ...{ resource: 'survey', kind: 'unknown_value', path: 'status', value: 'onHold' },
            ...{ occurrences: 2, first_seen_at: '1970-01-01T00:00:00Z', is_new: false },
          },
        ],
      },
    ],
    published: [{ format: 'duckdb', path: '/data/warehouse/fieldwork.duckdb', bytes: 2_621_440 }],
    publish_error: null,
  })
})
