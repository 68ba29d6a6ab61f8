/**
 * Which ends of a run are a success, and the lines about a run: the outcome first, then accounts that are not complete.
 */
import { expect, test } from 'vitest'
import { Secret } from '../../../src/base/secret.js'
import type { RunReport } from '../../../src/model/run.js'
import { endText, isSuccess, startDeliveries } from '../../../src/monitoring/notify.js'
import { runEnd } from '../../support/monitoring/run-ends.js'
import { runReport } from '../../support/warehouse/rows.js'

const reportOf = (...accounts: readonly Partial<RunReport>[]) => {
  const { report } = runEnd()
  return report === null ? null : { ...report, accounts: accounts.map(runReport) }
}

test.each([
  [true, 'a complete run', runEnd()],
  [true, 'a budget or a signal', runEnd({ exitCode: 3, report: reportOf({ hasFailures: false }) })],
  [
    false,
    'a survey that failed in one of two accounts',
    runEnd({ exitCode: 3, report: reportOf({ hasFailures: false }, { hasFailures: true }) }),
  ],
  [false, 'a signal before the run began', runEnd({ exitCode: 3, report: null })],
  [false, 'rejected rows', runEnd({ exitCode: 5 })],
] as const)('%s: %s', (success, _, end) => {
  expect(isSuccess(end)).toBe(success)
})

const withAccounts = (...accounts: readonly Partial<RunReport>[]) => runEnd({ report: reportOf(...accounts) })

test('a start names command, version and host', () => {
  const target = { setting: 'notify.start', url: new Secret('https://ping.example.com'), proxy: null }
  const body = 'fieldwork-sync sync started (version 0.1.0) on night-1\n'
  const run = { command: 'sync', version: '0.1.0', host: 'night-1' } as const
  expect(startDeliveries(target, run)).toMatchObject([{ target, body }])
})

test('a complete run has a line for each account', () => {
  const globex = { account: 'globex', surveysRefreshed: 1, requests: 1 }
  expect(endText(withAccounts({}, globex))).toBe(
    `fieldwork-sync sync on night-1: complete (exit 0) after 13 min 03 s
acme: complete; 2 surveys refreshed, 7 requests, nothing left over
globex: complete; 1 survey refreshed, 1 request, nothing left over
`,
  )
})

test('accounts that failed come first, with their reason and problems', () => {
  const end = withAccounts(
    {},
    {
      ...{ account: 'globex', status: 'failed', exitCode: 5, reason: 'a reason\n of two lines' },
      ...{ leftOver: 3, rejectedRows: 2, rateLimited: 1 },
    },
  )
  expect(endText({ ...end, status: 'failed', exitCode: 5 }).split('\n')).toEqual([
    'fieldwork-sync sync on night-1: failed (exit 5) after 13 min 03 s',
    'globex: failed; 2 surveys refreshed, 7 requests, 3 surveys left over, 2 rows rejected, 1 refusal with 429; a reason; of two lines',
    'acme: complete; 2 surveys refreshed, 7 requests, nothing left over',
    '',
  ])
})

test('an error that ended the command is a line, and so is a failed publish', () => {
  const error = { code: 'warehouse_is_held', message: 'it is held\nby another', exit_code: 6 } as const
  expect(endText(runEnd({ report: null, error, exitCode: 6, status: 'failed' })).split('\n')[1]).toBe(
    'it is held; by another',
  )
  const end = runEnd()
  const report = end.report === null ? null : { ...end.report, publishError: 'the disk is full' }
  expect(endText({ ...end, report }).split('\n')[1]).toBe('not published: the disk is full')
})

test('a replay counts rows', () => {
  const replayed = { merged: 2, queued: 1, outdated: 0, waiting: 4 }
  expect(endText(withAccounts({ command: 'replay', replayed })).split('\n')[1]).toBe(
    'acme: complete; 3 rows replayed, 4 rows waiting',
  )
})

test('it is short, whatever the number of accounts and the length of their reasons', () => {
  const many = Array.from({ length: 100 }, (_, n) => ({ account: `a${n}`, reason: '€'.repeat(10_000) }))
  const lines = endText(withAccounts(...many)).split('\n')
  expect(lines).toHaveLength(23)
  expect(lines.at(-2)).toBe('and 80 more accounts')
  expect(Math.max(...lines.map(({ length }) => length))).toBe(401)
})
