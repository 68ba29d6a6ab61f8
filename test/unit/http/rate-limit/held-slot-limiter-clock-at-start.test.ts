/** A wall clock that changes right after a limiter was created stalls no request and leaves no timer. */
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/clock.js'
import type { Slot } from '../../../../src/http/rate-limit/held-slot-limiter.js'
import { HeldSlotLimiter } from '../../../../src/http/rate-limit/held-slot-limiter.js'
import { until } from '../server-and-client.js'

const HOUR_MS = 3_600_000
const now = Date.now

afterEach(() => {
  Date.now = now
})

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

test.each([-HOUR_MS, HOUR_MS])(
  'a clock change of %s ms keeps every slot usable and leaves no timer',
  async (stepMs) => {
    const timersBefore = timers()
    const limiter = new HeldSlotLimiter({
      cap: 3,
      timing: { perMs: 60_000, requestTimeoutMs: 30_000 },
      clock: systemClock,
    })
    Date.now = () => now() + stepMs
    const { signal } = new AbortController()
    let sent = 0
    const work = (slot: Slot) => {
      slot.sending()
      slot.answered()
      sent += 1
      return Promise.resolve()
    }
    for (let jobs = 0; jobs < 3; jobs += 1) void limiter.run(work, [signal])
    await until(() => sent === 3)
    await limiter.close()
    await until(() => timers() <= timersBefore && limiter.slotsInUse() === 0)
    expect(sent).toBe(3)
  },
)
