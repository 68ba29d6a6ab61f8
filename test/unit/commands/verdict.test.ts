/** The line that says how a warehouse is, for several accounts. `e2e/check-and-status` shows it for one. */
import { expect, test } from 'vitest'
import { shortReason, verdictOf } from '../../../src/commands/status/verdict.js'
import type { LastRun } from '../../../src/storage/last-run.js'
import { instantOf, minute } from '../../support/time/instants.js'

const NOW_MS = Date.parse('2026-03-02T00:00:00Z')
const DAY_MS = 86_400_000
const sync = (account: string, surveys_refreshed: number, ended_at = minute(0)) => ({
  ...{
    account,
    run_id: `${account}-1`,
    exit_code: 0,
    reason: null,
    error_code: null,
    surveys_refreshed,
    ended_at,
    complete_at: ended_at,
  },
})
const OLD = instantOf('2026-01-01T00:00:00Z')
const stateOf = (
  syncs: Parameters<typeof verdictOf>[0],
  accountNames: readonly string[] = [],
  last: LastRun | null = null,
) => {
  const runs = { running: null, last }
  const { exitCode, text } = verdictOf(syncs, { accountNames, runs, nowMs: NOW_MS, maxAgeMs: 2 * DAY_MS })
  return [exitCode, text]
}

test('the surveys of all accounts count, and the oldest run', () => {
  const syncs = [sync('acme', 12, minute(60)), sync('globex', 11)]
  const text = 'OK: the last runs of all 2 accounts were complete, 23 surveys read, 24 h ago'
  expect(stateOf(syncs)).toEqual([0, text])
  expect(stateOf(syncs, ['acme', 'globex'])).toEqual([0, text])
})

test('an account that the settings no longer have is not late, one without a run is', () => {
  const syncs = [sync('acme', 12), sync('gone', 11, OLD)]
  expect(stateOf(syncs)).toEqual([3, expect.stringMatching(/^LATE \(account gone\): the last complete run/)])
  expect(stateOf(syncs, ['acme'])).toEqual([0, 'OK: the last run was complete, 12 surveys read, 24 h ago'])
  expect(stateOf(syncs, ['acme', 'new'])).toEqual([3, 'LATE (account new): no sync has ended yet'])
  // The settings of another warehouse, or names that this environment does not have.
  expect(stateOf([sync('acme', 12)], ['default'])).toEqual(stateOf([sync('acme', 12)]))
  expect(stateOf([], ['acme'])).toEqual([3, 'LATE: no sync has ended yet'])
})

test('a killed run of one account counts, also after a later run of another one', () => {
  const killed = { ...sync('globex', 0), exit_code: null, complete_at: minute(0) }
  expect(stateOf([sync('acme', 12), killed])).toEqual([
    3,
    expect.stringMatching(
      /^INTERRUPTED \(account globex\): killed, .* the run began 24 h ago and left no end/,
    ),
  ])
})

const lastRun = (given: Partial<LastRun>): LastRun => ({
  ...{ runId: '20260301T230000Z-000000', accounts: ['acme'], isPublished: false },
  ...{ startedAt: instantOf('2026-03-01T23:00:00Z'), seenAt: instantOf('2026-03-01T23:30:00Z') },
  ...{
    endedAt: instantOf('2026-03-01T23:30:00Z'),
    exitCode: 7,
    errorCode: 'object_store',
    reason: 'no space',
  },
  ...given,
})

test('a run that is not published counts for its accounts, and a partial one may be late', () => {
  const syncs = [sync('acme', 12), sync('globex', 11)]
  const failed = 'FAILED 30 min ago: not published (exit 7): no space; next: correct'
  expect(stateOf(syncs, [], lastRun({}))).toEqual([7, expect.stringContaining(failed)])
  expect(stateOf([], [], lastRun({}))).toEqual([7, expect.stringContaining(failed)])
  const stopped = lastRun({ exitCode: 3, errorCode: null, reason: 'stopped' })
  expect(stateOf(syncs, [], stopped)).toEqual([3, 'PARTIAL 30 min ago: not published (exit 3): stopped'])
  expect(stateOf([sync('acme', 1, OLD)], [], stopped)).toEqual([
    3,
    'LATE: the last complete run ended 60 d ago; the last run: not published (exit 3): stopped',
  ])
  // A published state shows it, or the failure of an account that this run left out is worse.
  expect(stateOf(syncs, [], lastRun({ isPublished: true, runId: 'acme-1' }))).toEqual(stateOf(syncs))
  const broken = { ...sync('globex', 0), exit_code: 7, reason: 'worse' }
  expect(stateOf([sync('acme', 12), broken], [], stopped)).toEqual([
    7,
    expect.stringMatching(/^FAILED .* \(account globex\): worse/),
  ])
})

test('a published run counts by its own end if the state is another one', () => {
  const syncs = [sync('acme', 12), sync('globex', 11)]
  const failed = [7, expect.stringMatching(/^FAILED 30 min ago: no space; next: correct/)]
  expect(stateOf(syncs, [], lastRun({ isPublished: true }))).toEqual(failed)
  expect(stateOf(syncs, [], lastRun({ isPublished: true, runId: 'globex-1' }))).toEqual(failed)
  const complete = { isPublished: true, exitCode: 0, errorCode: null, reason: null }
  expect(stateOf(syncs, [], lastRun(complete))).toEqual(stateOf(syncs))
  expect(stateOf([sync('acme', 12, OLD)], [], lastRun(complete))[1]).toMatch(
    /^LATE: the last complete run ended/,
  )
})

test('times do not say which run is the last, and a run without a recorded end is published as a whole', () => {
  const published = ['acme', 'globex'].map((account) => ({
    ...sync(account, 1, minute(1_439)),
    run_id: 'r2',
  }))
  const [first] = published
  if (first === undefined) throw new Error('there is a first account')
  const both = { accounts: ['acme', 'globex'] }
  expect(stateOf(published, [], lastRun({ ...both }))[0]).toBe(7)
  const begun = (runId: string) => lastRun({ ...both, runId, endedAt: null, exitCode: null, reason: null })
  expect(stateOf(published, [], begun('r2'))).toEqual(stateOf(published))
  const interrupted = [
    3,
    expect.stringMatching(/^INTERRUPTED 30 min ago: killed.*; next: look why it was killed/),
  ]
  expect(stateOf(published, [], begun('r3'))).toEqual(interrupted)
  // A bucket has the end of one account, which was uploaded while the other was read.
  expect(stateOf([first, sync('globex', 1)], [], begun('r2'))).toEqual(interrupted)
})

test('a run that is dated in the future is late, and so is its account', () => {
  expect(stateOf([sync('acme', 12, instantOf('2026-03-02T00:05:00Z'))])[0]).toBe(0)
  expect(stateOf([sync('acme', 12, instantOf('2026-03-02T20:00:00Z'))])).toEqual([
    3,
    'LATE: the last complete run is dated in the future (in 20 h): check the clock of its machine',
  ])
})

test('a failed run says that the clock of its machine was ahead', () => {
  const ended = (endedAt: string) => lastRun({ endedAt: instantOf(endedAt) })
  const textOf = (last: LastRun) => stateOf([sync('acme', 12)], ['acme'], last)[1]
  expect(textOf(ended('2026-03-02T01:00:00Z'))).toMatch(
    /^FAILED 1 h 00 min ahead of this clock: not published/,
  )
  expect(textOf(ended('2026-03-02T00:05:00Z'))).toMatch(/^FAILED 0 s ago: not published/)
})

test('what follows the address of a request stays', () => {
  const reason =
    'gave up on GET /api/v1/surveys?page=2: no answer (GET /api/v1/surveys?updated_since=2026-03-01T00:00:00Z).'
  expect(shortReason(reason)).toBe('gave up on GET /api/v1/surveys: no answer (GET /api/v1/surveys).')
})
