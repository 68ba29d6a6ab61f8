/** Which ends of a run are a success. */
import { expect, test } from 'vitest'
import type { RunReport } from '../../../../src/model/run.js'
import { isSuccess } from '../../../../src/monitoring/notify/notify.js'
import { runEnd } from '../../../support/monitoring/run-ends.js'
import { runReport } from '../../../support/warehouse/rows.js'

const partialWith = (...accounts: readonly Partial<RunReport>[]) => {
  const { report } = runEnd()
  return report === null ? null : { ...report, accounts: accounts.map(runReport) }
}

test.each([
  [true, 'a complete run', runEnd()],
  [true, 'a budget or a signal', runEnd({ exitCode: 3, report: partialWith({ hasFailures: false }) })],
  [
    false,
    'a survey that failed in one of two accounts',
    runEnd({ exitCode: 3, report: partialWith({ hasFailures: false }, { hasFailures: true }) }),
  ],
  [false, 'a signal before the run began', runEnd({ exitCode: 3, report: null })],
  [false, 'rejected rows', runEnd({ exitCode: 5 })],
] as const)('%s: %s', (success, _, end) => {
  expect(isSuccess(end)).toBe(success)
})
