/**
 * The server's own log shows that a sync never exceeds the cap, even if it is killed in a burst and restarted at once, that it uses nearly
 * all of it, and that it bursts where it may. The trials wait for windows, so they run side by side.
 */

import { expect, test } from 'vitest'
import { startWorld } from '../support/api/reference-api.js'
import { answered, openTrial, stderrShows } from '../support/command/trial.js'
import { envOf, paceOf } from '../support/oracle/rate.js'

const CAP = 60
/**
 * A trial with the real window takes three real minutes. A client that fits a sliding window also fits a fixed one. In `npm test`,
 * test/unit/http/rate-limit/pacer fills both on a test clock.
 */
const TRIALS = [
  ['sliding', 6_000],
  ['fixed', 6_000],
  ['sliding', 60_000],
  ['fixed', 60_000],
] as const
/** Bursts, and the windows between them. */
const REQUESTS = 4 * CAP

test.concurrent.for(TRIALS)(
  'a %s window of %d ms refuses nothing, never sees more than the cap, and sees nearly all of it used',
  async ([rateWindow, windowMs], context) => {
    const trial = await openTrial(context)
    await using server = await startWorld({
      surveys: 200,
      rateLimit: { requests: CAP, perMs: windowMs },
      rateWindow,
    })
    const args = ['sync', '--json', '--log-level', 'debug', '--max-requests', String(REQUESTS)]
    const ended = await trial.runWarm(args, {
      ...envOf(server),
      FIELDWORK_SYNC_RATE_LIMIT: `${CAP}/${windowMs}ms`,
    })
    expect(ended.code).toBe(3)
    const pace = await paceOf(server)
    expect(JSON.parse(ended.stdout)).toMatchObject({
      accounts: [{ requests: pace.requests, rate_limited: 0 }],
    })
    expect(pace.refused).toBe(0)
    expect(pace.mostInAny(windowMs)).toBeLessThanOrEqual(CAP)
    expect(pace.requests).toBeGreaterThan(REQUESTS - CAP)
    // A busy machine sends requests late. So the two requests of one slot that followed each other soonest count: a slot that is held
    // for longer than necessary shows in every pair.
    const used = windowMs / pace.soonestMs(CAP)
    // A slot is held for one window after the answer, not after the arrival. This costs the latency of each request.
    const reachable = windowMs / (windowMs + meanLatencyMs(ended.stderr))
    console.info(
      `${rateWindow}, ${windowMs} ms: ${(100 * used).toFixed(2)} % of the cap used, ${(100 * reachable).toFixed(2)} % reachable, ${pace.requests} requests, ${pace.mostInAny(windowMs)} at most in a window`,
    )
    expect(used / reachable).toBeGreaterThanOrEqual(0.97)
    if (windowMs === 60_000) expect(used).toBeGreaterThanOrEqual(0.99)
  },
)

test.concurrent('a sliding-window counter refuses a handful of requests, and then none', async (context) => {
  const [cap, windowMs] = [30, 10_000]
  const trial = await openTrial(context)
  await using server = await startWorld({
    surveys: 200,
    rateLimit: { requests: cap, perMs: windowMs },
    rateWindow: 'sliding-counter',
  })
  const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: `${cap}/${windowMs}ms` }
  const running = trial.start(['sync', '--json', '--log-level', 'debug', '--max-requests', '210'], env)
  await stderrShows(running, answered(5 * cap))
  expect(running.stderr()).toContain('requests are evenly spaced from now on')
  const { refused } = await paceOf(server)
  expect(refused).toBeGreaterThan(0)
  expect(refused).toBeLessThanOrEqual(8)
  const ended = await running.ended
  expect(JSON.parse(ended.stdout)).toMatchObject({
    accounts: [{ rate_limited: refused, pace_interval_ms: expect.closeTo(350.6, 0) }],
  })
})

/** The mean time of a request in the log, from the send to the end of the answer. */
const meanLatencyMs = (stderr: string): number => {
  const took = [...stderr.matchAll(/"ms":(\d+).*"msg":"request"/g)].map(([, ms]) => Number(ms))
  expect(took.length).toBeGreaterThan(100)
  return took.reduce((sum, ms) => sum + ms, 0) / took.length
}
