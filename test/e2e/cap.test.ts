/** The cap, judged by the server's own log: never over it, nearly all of it used, and a burst where a burst is allowed. */
import { expect, test } from 'vitest'
import { startReferenceServer } from '../../src/reference-server/server.js'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { answered, openTrial, said } from '../support/command/trial.js'
import { envOf, paceOf } from '../support/oracle/rate.js'
import { SLOW } from '../support/suite/slow.js'

const CAP = 60
/**
 * The real window takes a real minute, three times. A fixed window is within every sliding one, and test/unit/http/rate-limit/pacer
 * fills one on a clock of its own.
 */
const TRIALS = [
  ['sliding', 6_000],
  ...(SLOW
    ? ([
        ['fixed', 6_000],
        ['sliding', 60_000],
        ['fixed', 60_000],
      ] as const)
    : []),
] as const
/** Four bursts, and so three windows between them. */
const REQUESTS = 4 * CAP

// A busy machine may spoil the figure of a run, never the cap: that is asserted first.
test.concurrent.for(TRIALS)(
  'a %s window of %d ms refuses nothing, sees the cap kept in any window, and nearly all of it used',
  { timeout: 600_000, retry: 2 },
  async ([rateWindow, windowMs], context) => {
    const trial = await openTrial(context)
    await using server = await startReferenceServer({
      port: 0,
      surveys: 200,
      rateLimit: { requests: CAP, perMs: windowMs },
      rateWindow,
      clock: 'frozen',
    })
    const args = ['sync', '--json', '--log-level', 'debug', '--max-requests', String(REQUESTS)]
    const ended = await trial.run(args, {
      ...envOf(server),
      FIELDWORK_SYNC_RATE_LIMIT: `${CAP}/${windowMs}ms`,
    })
    expect(ended.code).toBe(3)
    const pace = await paceOf(server)
    expect(JSON.parse(ended.stdout)).toMatchObject({ accounts: [{ requests: pace.requests, refusals: 0 }] })
    expect(pace.refused).toBe(0)
    expect(pace.mostInAny(windowMs)).toBeLessThanOrEqual(CAP)
    // Whole rounds of all slots: `rounds * CAP` requests came in this time, in which the cap allows CAP a window.
    const rounds = Math.floor((pace.requests - 1) / CAP)
    expect(rounds).toBeGreaterThanOrEqual(3)
    const allowed = (CAP * pace.spanMs(rounds * CAP + 1)) / windowMs
    const used = (rounds * CAP) / allowed
    // A slot is held for a window from the answer on, not from the arrival: that much the latency costs.
    const reachable = windowMs / (windowMs + meanLatencyMs(ended.stderr))
    console.info(
      `${rateWindow}, ${windowMs} ms: ${(100 * used).toFixed(2)} % of the cap used, ${(100 * reachable).toFixed(2)} % reachable, ${pace.requests} requests, ${pace.mostInAny(windowMs)} at most in a window`,
    )
    expect(used / reachable).toBeGreaterThanOrEqual(0.97)
    if (windowMs === 60_000) expect(used).toBeGreaterThanOrEqual(0.99)
  },
)

test
  .runIf(SLOW)
  .concurrent(
    'a sliding-window counter refuses a handful, then nothing any more',
    { timeout: 300_000, retry: 2 },
    async (context) => {
      const [cap, windowMs] = [30, 10_000]
      const trial = await openTrial(context)
      await using server = await startReferenceServer({
        port: 0,
        surveys: 200,
        rateLimit: { requests: cap, perMs: windowMs },
        rateWindow: 'sliding-counter',
        clock: 'frozen',
      })
      const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: `${cap}/${windowMs}ms` }
      const running = trial.start(['sync', '--json', '--log-level', 'debug', '--max-requests', '210'], env)
      await said(running, answered(5 * cap))
      expect(running.stderr()).toContain('requests are evenly spaced from now on')
      const { refused } = await paceOf(server)
      expect(refused).toBeGreaterThan(0)
      expect(refused).toBeLessThanOrEqual(8)
      const ended = await running.ended
      expect(JSON.parse(ended.stdout)).toMatchObject({
        accounts: [{ refusals: refused, pace_interval_ms: expect.closeTo(350.6, 0) }],
      })
    },
  )

/** From the log: what each request took, from the send to the end of the answer. */
const meanLatencyMs = (stderr: string): number => {
  const took = [...stderr.matchAll(/"ms":(\d+).*"msg":"request"/g)].map(([, ms]) => Number(ms))
  expect(took.length).toBeGreaterThan(100)
  return took.reduce((sum, ms) => sum + ms, 0) / took.length
}

test.concurrent('a job of 40 requests is done in a burst under the cap of 60 a minute', async (context) => {
  // The listing, and three surveys of 13: sources, progress, and the progress of eleven sources.
  const trial = await openTrial(
    context,
    [1, 2, 3].map((id) => scriptedSurvey(id, {}, 11)),
  )
  const ended = await trial.run(['sync'], { FIELDWORK_SYNC_RATE_LIMIT: '60/60s' })
  expect(ended.code).toBe(0)
  const { arrivals } = trial.api
  expect(arrivals).toHaveLength(40)
  // One a second, as pacing would have it, takes 39 s.
  expect((arrivals.at(-1)?.atMs ?? Number.NaN) - (arrivals[0]?.atMs ?? 0)).toBeLessThan(20_000)
})
