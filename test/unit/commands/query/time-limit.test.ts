/** The limit of a query counts the time in which it computes, and not the time in which nobody reads its output. */
import { expect, test } from 'vitest'
import { limitedIn } from '../../../../src/commands/query/time-limit.js'
import { testClock } from '../../../support/time/test-clock.js'

test('the time of uncounted work does not count, and the time before and after it does', async () => {
  const clock = testClock()
  const context = { signal: new AbortController().signal, endNow: () => undefined, stderr: process.stderr }
  using limited = limitedIn(context, 3_000, [], clock)
  clock.advance(2_000)
  await limited.uncounted(async () => clock.advance(60_000))
  clock.advance(999)
  expect(limited.signal.aborted).toBe(false)
  clock.advance(1)
  expect(limited.signal.reason).toMatchObject({ message: expect.stringContaining('stopped after 3 s') })
})
