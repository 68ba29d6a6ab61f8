/**
 * The clocks of the machine jump by an hour during a run of the real command, as after NTP or suspend. By the server's log
 * the run keeps the cap. It ends by itself and stores the correct tables. The server has its own clock.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startWorld } from '../support/api/reference-api.js'
import { answered, openTrial, stderrShows } from '../support/command/trial.js'
import { envOf, paceOf } from '../support/oracle/rate.js'
import { unsoundness } from '../support/oracle/soundness.js'
import { openWorld, truthRows, warehouseRows } from '../support/oracle/truth.js'

const HOUR_MS = 3_600_000
const CAP = 60
const WINDOW_MS = 3_000

/** How far the wall clock and the monotonic clock jump. In sleep, the process is stopped for longer than a window. */
const JUMPS: readonly (readonly [what: string, wallMs: number, monotonicMs: number, sleeps: boolean])[] = [
  ['the wall clock is put back', -HOUR_MS, 0, false],
  ['the wall clock is put forward', HOUR_MS, 0, false],
  ['the machine sleeps, and its monotonic clock with it', HOUR_MS, 0, true],
  ['the machine sleeps, and its monotonic clock goes on', HOUR_MS, HOUR_MS, true],
  ['the machine sleeps and wakes with its wall clock put back', -HOUR_MS, HOUR_MS, true],
]

/** Matches when stderr shows that many jumps. */
const jumped = (times: number) => (stderr: string) => stderr.split('clocks have jumped').length > times

test.concurrent.for(JUMPS)(
  '%s by an hour, twice in a run: the run keeps the cap, ends, and stores the truth',
  async ([, wallMs, monotonicMs, sleeps], context) => {
    const trial = await openTrial(context)
    await using server = await startWorld({
      seed: 11,
      surveys: 60,
      rateLimit: { requests: CAP, perMs: WINDOW_MS },
      rateWindow: 'sliding',
    })
    const shiftFile = join(await trial.temporary(), 'jump')
    const env = {
      ...envOf(server),
      FIELDWORK_SYNC_RATE_LIMIT: `${CAP}/${WINDOW_MS}ms`,
      NODE_OPTIONS: `--import ${new URL('fixtures/shifted-clocks.mjs', import.meta.url).href}`,
      SHIFT_CLOCKS: JSON.stringify({ wallMs, monotonicMs }),
      SHIFT_FILE: shiftFile,
    }
    const running = trial.start(['sync', '--json', '--log-level', 'debug'], env)
    for (const [times, requests] of [
      [1, Math.floor(CAP / 3)],
      [2, Math.floor(CAP * 1.5)],
    ] as const) {
      await stderrShows(running, answered(requests))
      if (sleeps) running.child.kill('SIGSTOP')
      await writeFile(`${shiftFile}.${times}`, '')
      if (sleeps) {
        await new Promise((resolve) => setTimeout(resolve, WINDOW_MS + 200))
        running.child.kill('SIGCONT')
      }
      await stderrShows(running, jumped(times))
    }
    const ended = await running.ended
    expect(ended).toMatchObject({ code: 0, signal: null })
    const [report] = JSON.parse(ended.stdout).accounts
    // The next run reads the ledger with the times from before and after the jumps.
    const next = await trial.run(['sync', '--json', '--full'], env)
    expect(next).toMatchObject({ code: 0, signal: null })
    const pace = await paceOf(server)
    expect(report.requests).toBeGreaterThan(2 * CAP)
    expect(pace.mostInAny(WINDOW_MS)).toBeLessThanOrEqual(CAP)
    expect(pace.refused).toBe(0)
    expect(await warehouseRows(trial.published)).toEqual(await truthRows(server))
    expect(await unsoundness(trial.published)).toEqual([])
    await openWorld(server).advance('PT6H')
    expect(await trial.run(['sync'], env)).toMatchObject({ code: 0 })
    expect(await unsoundness(trial.published)).toEqual([])
  },
)
