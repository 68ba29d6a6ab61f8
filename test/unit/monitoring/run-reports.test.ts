/** Reports get ten seconds, and after a signal so much less that the run ends within ten seconds of it. */
import { expect, test } from 'vitest'
import { reportMsMax } from '../../../src/monitoring/run-reports.js'
import { PUBLISH_AFTER_SIGNAL_MS_MAX } from '../../../src/sync/publish.js'

const ENDS_WITHIN_MS = 10_000

test('without a signal, reports get ten seconds', () => {
  expect(reportMsMax(null)).toBe(10_000)
})

test('after a signal they get three seconds, and end with the run', () => {
  expect(reportMsMax(0)).toBe(3_000)
  for (let sinceMs = 0; sinceMs <= PUBLISH_AFTER_SIGNAL_MS_MAX + 1_500; sinceMs += 100) {
    expect(reportMsMax(sinceMs)).toBeGreaterThanOrEqual(400)
    expect(sinceMs + reportMsMax(sinceMs)).toBeLessThan(ENDS_WITHIN_MS)
  }
})
