/** Status, exit code and reason of a run, as a table. */
import { expect, test } from 'vitest'
import type { MetDrift } from '../../../src/model/run.js'
import { type OutcomeRules, outcomeOf } from '../../../src/sync/outcome.js'

const met = (path: string, value: string | null): MetDrift => ({
  resource: 'survey',
  kind: value === null ? 'unknown_field' : 'unknown_value',
  path,
  value,
  occurrences: 1,
  firstSeenAt: 0n,
  isNew: true,
})

type RunFacts = Parameters<typeof outcomeOf>[0]
const fine: RunFacts = {
  stopped: null,
  begunAt: 0n,
  ended: null,
  discovery: 'complete',
  repeated: null,
  surveysFailed: 0,
  leftOver: 0,
  surveysLeftOut: 0,
  surveysUnconfirmed: 0,
  sourcesLeftOut: 0,
  surveysWithLeftOut: 0,
  firstWithLeftOut: null,
  failing: 0,
  rejectedRows: 0,
  driftEvents: 0,
  drift: [],
}
const refused = { exitCode: 4, code: 'credentials_refused', message: 'the API answered 401' } as const
const full = { exitCode: 7, code: 'warehouse_unusable', message: 'disk full' } as const

test.each<[number, string, string | null, Partial<RunFacts>, Partial<OutcomeRules>?]>([
  [0, 'complete', null, {}],
  [0, 'complete', null, { driftEvents: 3 }],
  [0, 'complete', null, { rejectedRows: 2 }, { limits: { rejected_rows_max: 2 } }],
  [3, 'partial', 'stopped by SIGTERM', { stopped: 'stopped by SIGTERM', leftOver: 9 }],
  [3, 'partial', '1 survey failed', { surveysFailed: 1, leftOver: 1 }],
  [3, 'partial', '2 surveys failed', { surveysFailed: 2, leftOver: 2 }],
  [3, 'partial', 'not all queued surveys were read', { leftOver: 1 }],
  [3, 'partial', '2 surveys could not be read', { leftOver: 3, failing: 2 }],
  [
    3,
    'partial',
    'surveys kept moving between the pages of the listing, so it does not count, and the next run repeats it',
    { discovery: 'drifted' },
  ],
  [
    3,
    'partial',
    'the list of surveys shows survey 7 more than once on page 2, and fewer surveys than it announces, so the listing does not count. Report this to the owner of the API',
    { discovery: 'drifted', repeated: 'survey 7 more than once on page 2' },
  ],
  [
    3,
    'partial',
    'stopped by --max-requests 9; the next run continues the listing',
    { stopped: 'stopped by --max-requests 9', discovery: 'interrupted' },
  ],
  [
    3,
    'partial',
    'stopped by SIGTERM; no request succeeded; the next run continues the listing',
    { stopped: 'stopped by SIGTERM', begunAt: null, discovery: 'interrupted' },
  ],
  [5, 'failed', '1 row could not be typed and went to quarantine (_sync.rejected_rows)', { rejectedRows: 1 }],
  [
    5,
    'failed',
    '2 differences from the API document under contract: freeze (_sync.drift_events)',
    { driftEvents: 2 },
    { contract: 'freeze' },
  ],
  [
    5,
    'failed',
    '4 differences from the API document under contract: freeze (survey.mood, survey.status "a \\u001bb", survey.a, …; _sync.drift_events)',
    {
      driftEvents: 4,
      drift: [met('mood', null), met('status', 'a\u2028\u001bb'), met('a', null), met('b', null)],
    },
    { contract: 'freeze' },
  ],
  [4, 'failed', 'the API answered 401', { ended: refused, discovery: null }],
  [7, 'failed', 'disk full', { ended: full }],
  [
    5,
    'failed',
    '3 rows could not be typed and went to quarantine (_sync.rejected_rows); stopped by SIGINT',
    { rejectedRows: 3, stopped: 'stopped by SIGINT' },
  ],
  [
    4,
    'failed',
    'the API answered 401; 1 row could not be typed and went to quarantine (_sync.rejected_rows); 1 difference from the API document under contract: freeze (_sync.drift_events); 1 survey failed',
    { ended: refused, rejectedRows: 1, driftEvents: 1, surveysFailed: 1, leftOver: 5 },
    { contract: 'freeze' },
  ],
])('exit %d, %s: %s', (exitCode, status, reason, facts, rules = {}) => {
  expect(
    outcomeOf({ ...fine, ...facts }, { limits: { rejected_rows_max: 0 }, contract: 'evolve', ...rules }),
  ).toMatchObject({ exitCode, status, reason })
})

test.each<[boolean, string, Partial<RunFacts>]>([
  [false, 'a complete run', {}],
  [false, 'a signal', { stopped: 'stopped by SIGTERM', leftOver: 9 }],
  [false, 'a budget in the middle of the listing', { stopped: 'stopped', discovery: 'interrupted' }],
  [false, 'surveys that wait for the next run', { leftOver: 4 }],
  [true, 'a survey that failed', { surveysFailed: 1, leftOver: 1, failing: 1 }],
  [true, 'a survey that failed before, and rests', { leftOver: 1, failing: 1 }],
  [true, 'a budget, and a survey that failed before', { stopped: 'stopped', leftOver: 3, failing: 1 }],
  [true, 'a listing that kept moving', { discovery: 'drifted' }],
  [true, 'a signal before any answer', { stopped: 'stopped', begunAt: null, discovery: 'interrupted' }],
  [true, 'rejected rows', { rejectedRows: 1 }],
  [true, 'an error that ended the run', { ended: refused, discovery: null }],
])('failures: %s for %s', (hasFailures, _, facts) => {
  const outcome = outcomeOf({ ...fine, ...facts }, { limits: { rejected_rows_max: 0 }, contract: 'evolve' })
  expect(outcome.hasFailures).toBe(hasFailures)
})
