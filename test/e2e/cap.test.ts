/** The cap, judged by the server's own log: never over it, nearly all of it used, and a burst where a burst is allowed. */
import { expect, test } from 'vitest'
import { startReferenceServer } from '../../src/reference-server/server.js'
import { envOf, paceOf } from '../support/rate.js'
import { scriptedSurvey } from '../support/scripted-api.js'
import { openTrial } from '../support/trial.js'

const CAP = 60
const WINDOW_MS = 6_000
/** Four bursts, and so three windows between them. */
const REQUESTS = 4 * CAP

// A busy machine may spoil the figure of a run, never the cap: that is asserted first.
test.concurrent.for(['sliding', 'fixed'] as const)(
  'a %s window refuses nothing, sees the cap kept in any window, and nearly all of it used',
  { timeout: 120_000, retry: 2 },
  async (rateWindow, context) => {
    const trial = await openTrial(context)
    await using server = await startReferenceServer({
      port: 0,
      surveys: 200,
      rateLimit: { requests: CAP, perMs: WINDOW_MS },
      rateWindow,
      clock: 'frozen',
    })
    const args = ['sync', '--json', '--log-level', 'debug', '--max-requests', String(REQUESTS)]
    const ended = await trial.run(args, {
      ...envOf(server),
      FIELDWORK_SYNC_RATE_LIMIT: `${CAP}/${WINDOW_MS}ms`,
    })
    expect(ended.code).toBe(3)
    const pace = await paceOf(server)
    expect(JSON.parse(ended.stdout)).toMatchObject({ accounts: [{ requests: pace.requests, refusals: 0 }] })
    expect(pace.refused).toBe(0)
    expect(pace.mostInAny(WINDOW_MS)).toBeLessThanOrEqual(CAP)
    // Whole rounds of all slots: `rounds * CAP` requests came in this time, in which the cap allows CAP a window.
    const rounds = Math.floor((pace.requests - 1) / CAP)
    expect(rounds).toBeGreaterThanOrEqual(3)
    const allowed = (CAP * pace.spanMs(rounds * CAP + 1)) / WINDOW_MS
    const used = (rounds * CAP) / allowed
    // A slot is held for a window from the answer on, not from the arrival: that much the latency costs.
    const reachable = WINDOW_MS / (WINDOW_MS + meanLatencyMs(ended.stderr))
    console.info(
      `${rateWindow}: ${(100 * used).toFixed(2)} % of the cap used, ${(100 * reachable).toFixed(2)} % reachable, ${pace.requests} requests, ${pace.mostInAny(WINDOW_MS)} at most in a window`,
    )
    expect(used / reachable).toBeGreaterThanOrEqual(0.97)
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
