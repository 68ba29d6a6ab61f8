/** The line that says how a warehouse is, for several accounts. `e2e/check-and-status` shows it for one. */
import { expect, test } from 'vitest'
import { verdictOf } from '../../../src/commands/status/verdict.js'
import { instantOf, minute } from '../../support/time/instants.js'

const NOW_MS = Date.parse('2026-03-02T00:00:00Z')
const DAY_MS = 86_400_000
const sync = (account: string, surveys_refreshed: number, ended_at = minute(0)) => ({
  ...{ account, exit_code: 0, reason: null, surveys_refreshed, ended_at, complete_at: ended_at },
})
const OLD = instantOf('2026-01-01T00:00:00Z')
const stateOf = (syncs: Parameters<typeof verdictOf>[0], names: readonly string[] = []) => {
  const { exitCode, text } = verdictOf(syncs, names, NOW_MS, 2 * DAY_MS)
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
