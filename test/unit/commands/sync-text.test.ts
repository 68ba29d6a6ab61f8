/** The summary that people read at the end of a run. */
import { describe, expect, test } from 'vitest'
import { render as renderSummary } from '../../../src/commands/sync.js'
import { visible } from '../../../src/logging/visible.js'
import type { SyncReport } from '../../../src/model/run.js'
import { instantOf } from '../../support/time/instants.js'
import { runReport, syncReport } from './reports.js'

const render = (report: SyncReport) => renderSummary(report, { elapsedMs: 726_000 })
const lastLine = (report: SyncReport) => render(report).trimEnd().split('\n').at(-1)

test('the summary of one account has a table, the numbers, the published files and the result', () => {
  expect(render(syncReport())).toBe(`\
rows                    added  changed  unchanged
surveys                     3       20        227
sample_sources              7        0  1,234,567
survey_progress             3      200          9
sample_source_progress      7      512          0

requests   1,234 (2 retries, 1 refusal with 429)
listing    incremental, 250 surveys listed
refreshed  212 surveys
left over  nothing
rejected   none
drift      none

published duckdb: /data/warehouse/fieldwork.duckdb (2.5 MiB)
took 12 min 06 s

complete: 212 surveys refreshed, nothing left over.
`)
})

test('the summary has a line about compaction only if rows were left out', () => {
  expect(render(syncReport())).not.toContain('compacted')
  expect(render(syncReport({ accounts: [runReport({ historyRowsCompacted: 12_345 })] }))).toContain(
    'compacted  12,345 old observations of progress removed, the last of each day stays\n',
  )
})

test('the summary has a line about the pace only if refusals have changed it', () => {
  expect(render(syncReport())).not.toContain('pace')
  expect(render(syncReport({ accounts: [runReport({ paceIntervalMs: 1021.2 })] }))).toContain(
    'pace       a request every 1,022 ms: the API refuses bursts within the cap\n',
  )
})

test('the summary counts failures and data problems and names the tables that hold them', () => {
  const run = runReport({
    surveysFailed: 2,
    leftOver: 43,
    rejectedRows: 1,
    driftEvents: 3,
    rateLimited: 12,
    retries: 1,
  })
  const text = render(syncReport({ accounts: [run] }))
  expect(text).toContain('requests   1,234 (1 retry, 12 refusals with 429)\n')
  expect(text).toContain('refreshed  212 surveys, 2 failed\n')
  expect(text).toContain('left over  43 surveys, queued for the next run\n')
  expect(text).toContain('rejected   1 row, kept in _sync.rejected_rows\n')
  expect(text).toContain('drift      3 differences from the API document, see _sync.drift_events\n')
})

test('the summary names unknown fields and values, since when they occur, and why rows were rejected', () => {
  const drift = {
    resource: 'survey',
    kind: 'unknown_value',
    occurrences: 1,
    firstSeenAt: instantOf('2026-02-01T00:00:00Z'),
  } as const
  const run = runReport({
    rejectedRows: 5,
    rejections: [{ endpoint: 'surveys', problem: 'title: expected a string, got 7', rows: 4 }],
    driftEvents: 14,
    drift: [
      { ...drift, kind: 'unknown_field', path: 'mood', value: null, isNew: true },
      { ...drift, path: 'status', value: 'on\n\u001b[31mhold', occurrences: 1_200, isNew: false },
    ],
  })
  expect(render(syncReport({ accounts: [run] }))).toContain(`\
rejected   5 rows, kept in _sync.rejected_rows
             surveys: title: expected a string, got 7 (4 rows)
             and 1 more
drift      14 differences from the API document, see _sync.drift_events
             survey.mood: new, seen 1 time
             survey.status "on\\n\\u001b[31mhold": since 2026-02-01T00:00:00Z, seen 1,200 times
             and 12 more
`)
})

test('each account has a section, and the last line adds them up', () => {
  const text = render(
    syncReport({ accounts: [runReport(), runReport({ account: 'beta', surveysRefreshed: 1_000 })] }),
  )
  expect(text.match(/^account .*$/gm)).toEqual(['account acme: complete', 'account beta: complete'])
  expect(text.match(/^(time|took) .*$/gm)).toEqual([
    'time       12 min 05 s',
    'time       12 min 05 s',
    'took 12 min 06 s in all',
  ])
  expect(text).toMatch(/\ncomplete: 1,212 surveys refreshed, nothing left over\.\n$/)
})

test('the summary has the time of the whole command only if it is known', () => {
  expect(renderSummary(syncReport())).not.toContain('took')
})

test('the summary says that nothing was published, and why', () => {
  const unpublished = { published: [], publishError: 'disk full', exitCode: 7, status: 'failed' } as const
  const text = render(syncReport(unpublished))
  expect(text).toContain('published nothing\n')
  expect(text.split('disk full')).toHaveLength(2)
})

test('after a file was replaced and may be lost, the summary does not say that nothing was published', () => {
  const reason = '/w/fieldwork.duckdb is replaced, but a power failure may undo that: EIO'
  const seen = { accounts: [runReport({ status: 'failed', exitCode: 7, reason })], published: [] }
  const text = renderSummary(syncReport({ ...seen, publishError: null, exitCode: 7, status: 'failed' }))
  expect(text).not.toContain('published')
  expect(text).not.toContain('\n\n\n')
  expect(text).toContain(reason)
})

test('after a failure, what is zero is left out', () => {
  const counts = {
    requests: 1,
    retries: 0,
    rateLimited: 0,
    surveysListed: 0,
    surveysRefreshed: 0,
    rejectedRows: 0,
  }
  const run = runReport({
    ...counts,
    status: 'failed',
    exitCode: 4,
    reason: 'connection refused',
    rowsByTable: {},
  })
  const text = render(syncReport({ accounts: [run], status: 'failed', exitCode: 4, published: [] }))
  expect(text.split('\n\n')[0]).toBe('requests   1')
  const more = runReport({ ...run, rateLimited: 2, surveysListed: 50 })
  expect(
    render(syncReport({ accounts: [more], status: 'failed', exitCode: 4, published: [] })).split('\n\n')[0],
  ).toBe('requests   1 (2 refusals with 429)\nlisting    incremental, 50 surveys listed')
})

test('the summary of a run that read nothing has no table of zeros', () => {
  const none = { added: 0, changed: 0, unchanged: 0 }
  const rowsByTable = {
    surveys: none,
    sample_sources: none,
    survey_progress: none,
    sample_source_progress: none,
  }
  expect(render(syncReport({ accounts: [runReport({ rowsByTable })] }))).toMatch(/^requests /)
})

describe('the last line', () => {
  const partial = runReport({
    status: 'partial',
    exitCode: 3,
    reason: 'stopped by --max-requests 100',
    leftOver: 43,
  })
  const failed = runReport({
    account: 'beta',
    status: 'failed',
    exitCode: 4,
    reason: 'the API answered 401:\n  check the token.',
    leftOver: 1,
  })

  test.each<[string, Partial<SyncReport>, string]>([
    [
      'complete',
      { accounts: [runReport({ surveysRefreshed: 1 })] },
      'complete: 1 survey refreshed, nothing left over.',
    ],
    [
      'partial',
      { status: 'partial', exitCode: 3, accounts: [partial] },
      'partial (exit 3): stopped by --max-requests 100; 43 surveys are queued for the next run.',
    ],
    [
      'failed',
      { status: 'failed', exitCode: 4, accounts: [failed] },
      'failed (exit 4): the API answered 401: check the token; 1 survey is queued for the next run.',
    ],
    [
      'failed, naming the account that decided it',
      { status: 'failed', exitCode: 4, accounts: [partial, failed] },
      'failed (exit 4): beta: the API answered 401: check the token; 44 surveys are queued for the next run.',
    ],
    [
      'failed to publish',
      { status: 'failed', exitCode: 7, publishError: 'the disk is full.' },
      'failed (exit 7): not published: the disk is full.',
    ],
    ['failed without a reason', { status: 'failed', exitCode: 1 }, 'failed (exit 1): no reason was given.'],
  ])('reads: %s', (_, changes, expected) => {
    expect(lastLine(syncReport(changes))).toBe(expected)
  })

  test('is the only coloured line, in the colour of its status, and only if colours are enabled', () => {
    const text = visible(renderSummary(syncReport(), { elapsedMs: 0, colour: true }))
    expect(text.split('\u001b[')).toHaveLength(3)
    expect(text.endsWith('\n\u001b[32mcomplete: 212 surveys refreshed, nothing left over.\u001b[39m\n')).toBe(
      true,
    )
    expect(render(syncReport())).not.toContain('\u001b')
  })
})
