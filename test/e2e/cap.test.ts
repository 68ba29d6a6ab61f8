/**
 * The server's own log shows that a sync never exceeds the cap, even if it is killed in a burst and restarted at once, and that it bursts
 * where it may. The trials wait for windows, so they run side by side.
 */

import { expect, test } from 'vitest'
import { startWorld } from '../support/api/reference-api.js'
import { scriptedSurveys } from '../support/api/scripted-api.js'
import { answered, openTrial, stderrShows } from '../support/command/trial.js'
import { envOf, paceOf } from '../support/oracle/rate.js'
import { howMany, some } from '../support/suite/cases.js'

const CAP = 60

test.concurrent('a run of 40 requests sends them in one burst under a cap of 60', async (context) => {
  // One request for the listing, and 13 for each of three surveys: sources, progress, and eleven sources' progress.
  const trial = await openTrial(context, scriptedSurveys(3, { status: 'pending' }, 11))
  // Even pacing, one request a minute, would take 39 minutes, which is longer than a test may take.
  const ended = await trial.runWarm(['sync'], { FIELDWORK_SYNC_RATE_LIMIT: '60/1h' })
  expect(ended.code).toBe(0)
  expect(trial.api.arrivals).toHaveLength(40)
})

/** Killed runs before the last one. kills.test.ts shows that no row is lost. */
const KILLS = howMany(1, 2)

test.concurrent.for(some(['sliding', 'fixed'] as const, 1))(
  'a sync that is killed in a burst and restarted at once keeps the cap of a %s window',
  async (rateWindow, context) => {
    const windowMs = 6_000
    const trial = await openTrial(context)
    await using server = await startWorld({
      surveys: 60,
      rateLimit: { requests: CAP, perMs: windowMs },
      rateWindow,
    })
    const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: `${CAP}/${windowMs}ms` }
    // 40 requests fit into the first burst. The second run must wait for slots that the first one used, and so on.
    for (let run = 1; run <= KILLS; run += 1) {
      const running = trial.start(['sync', '--log-level', 'debug'], env)
      await stderrShows(running, answered(40))
      running.child.kill('SIGKILL')
      expect(await running.ended).toMatchObject({ signal: 'SIGKILL' })
    }
    const last = await trial.runWarm(['sync', '--json', '--max-requests', '60'], env)
    expect(last.code).toBe(3)
    const [report] = JSON.parse(last.stdout).accounts
    expect(report.rate_limited).toBe(0)
    const pace = await paceOf(server)
    // The last run stops before the first survey that does not fit into its budget.
    expect(pace.requests).toBeGreaterThanOrEqual(KILLS * 40 + report.requests)
    expect(pace.requests).toBeGreaterThan(1.5 * CAP)
    expect(pace.refused).toBe(0)
    expect(pace.mostInAny(windowMs)).toBeLessThanOrEqual(CAP)
  },
)
