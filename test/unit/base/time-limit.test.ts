import { expect, test } from 'vitest'
import { createTimeLimit } from '../../../src/base/time-limit.js'
import { testClock } from '../../support/time/test-clock.js'

test('a limit acts in its time, and after the end of its work no more', () => {
  const clock = testClock()
  const acts: string[] = []
  const limit = createTimeLimit(clock)
  limit.after(1_000, () => acts.push('in time'))
  limit.after(5_000, () => acts.push('too late'))
  clock.advance(2_000)
  limit[Symbol.dispose]()
  limit.after(1_000, () => acts.push('after the end'))
  clock.advance(10_000)
  expect(acts).toEqual(['in time'])
})
