/** A sync that is killed in a burst and restarted at once keeps the cap across processes. kills.test.ts shows that no row is lost. */
import { expect, test } from 'vitest'
import { startWorld } from '../support/api/reference-api.js'
import { answered, openTrial, stderrShows } from '../support/command/trial.js'
import { envOf, paceOf } from '../support/oracle/rate.js'
import { SLOW } from '../support/suite/slow.js'

const CAP = 60
const WINDOW_MS = 6_000
const KILLS = SLOW ? 2 : 1

test.concurrent.for(SLOW ? (['sliding', 'fixed'] as const) : (['sliding'] as const))(
  'a sync that is killed in a burst and restarted at once keeps the cap of a %s window',
  { timeout: 120_000 },
  async (rateWindow, context) => {
    const trial = await openTrial(context)
    await using server = await startWorld({
      surveys: 60,
      rateLimit: { requests: CAP, perMs: WINDOW_MS },
      rateWindow,
    })
    const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: `${CAP}/${WINDOW_MS}ms` }
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
    expect(report.refusals).toBe(0)
    const pace = await paceOf(server)
    // The last run stops before the first survey that does not fit into its budget.
    expect(pace.requests).toBeGreaterThanOrEqual(KILLS * 40 + report.requests)
    expect(pace.requests).toBeGreaterThan(1.5 * CAP)
    expect(pace.refused).toBe(0)
    expect(pace.mostInAny(WINDOW_MS)).toBeLessThanOrEqual(CAP)
  },
)
