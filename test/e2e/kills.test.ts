/**
 * The real process killed at random moments and started again, until all is done: while it opens, lists, refreshes,
 * publishes, and while it makes good what was damaged before. After every kill the published file is sound and every survey
 * in it is of one moment; whenever a run completes, nothing is left over; in the end the tables are the truth.
 */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startReferenceServer } from '../../src/reference-server/server.js'
import type { Running } from '../support/command/command.js'
import { openTrial, said } from '../support/command/trial.js'
import { DAMAGES } from '../support/files/damage.js'
import { envOf } from '../support/oracle/rate.js'
import { unsoundness } from '../support/oracle/soundness.js'
import { openWorld, type SurveyRows, truthRows, warehouseRows } from '../support/oracle/truth.js'
import { chance } from '../support/suite/chance.js'
import { SLOW } from '../support/suite/slow.js'
import { query } from '../support/warehouse/duckdb.js'

const KILLS = 110
/** So many kills at most before a run is left alone and the world moves on. */
const KILLS_A_ROUND_MAX = 8
const STARTS_MAX = 6 * KILLS
const UNREAD = { sources: [], progress: {}, sourceProgress: [] }

/** Where a run is, by what it has said and left on the disk. */
type Phase = 'opening' | 'recovering' | 'listing' | 'refreshing' | 'publishing'

const phaseOf = (stderr: string, files: readonly string[]): Phase => {
  if (stderr.includes('"msg":"publishing"') || files.some((name) => name.includes('.publishing')))
    return 'publishing'
  if (stderr.includes('queued what is due')) return 'refreshing'
  if (stderr.includes('"msg":"request"')) return 'listing'
  return /is set aside|is rebuilt/.test(stderr) ? 'recovering' : 'opening'
}

const TRIGGERS: readonly (RegExp | 'now' | 'requests')[] = [
  'now',
  'requests',
  'requests',
  /"msg":"publishing"/,
  /"msg":"request"/,
  /queued what is due/,
  /is set aside|is rebuilt|"msg":"request"/,
]

test.runIf(SLOW)(
  'killed again and again, at random, with files lost and damaged in between: it always goes on',
  {
    timeout: 900_000,
  },
  async (context) => {
    const lots = chance()
    const trial = await openTrial(context)
    await using server = await startReferenceServer({
      port: 0,
      seed: 5,
      surveys: 25,
      rateWindow: 'none',
      clock: 'frozen',
    })
    const world = openWorld(server)
    const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: '10000/1s' }
    const args = [
      'sync',
      '--log-level',
      'debug',
      ...(await trial.settings({ refresh: { max_age: '1m', skip_unchanged: true } })),
    ]
    const moments = [await truthRows(server)]
    const killed: Record<Phase, number> = {
      opening: 0,
      recovering: 0,
      listing: 0,
      refreshing: 0,
      publishing: 0,
    }
    let [kills, killsInRound, starts, damages, completed, damageMet] = [0, 0, 0, 0, 0, 0]

    const look = async (where: string): Promise<void> => {
      if (!existsSync(trial.published)) return
      expect(await unsoundness(trial.published), where).toEqual([])
      for (const [key, rows] of await warehouseRows(trial.published))
        expect(isOfOneMoment(key, rows, moments), `${key}, ${where}`).toBe(true)
      const unfinished = await query(trial.published, `SELECT * FROM _sync.runs WHERE status = 'running'`)
      expect(unfinished, where).toEqual([])
    }

    while (kills < KILLS) {
      starts += 1
      expect(starts).toBeLessThanOrEqual(STARTS_MAX)
      // Before anything is published a lost work database is lost history, and there is nothing to rebuild from.
      if (existsSync(trial.published) && lots.below(4) === 0) {
        const damage = lots.oneOf(DAMAGES)
        await damage.do(trial.warehouse, lots)
        damages += 1
      }
      const running = trial.start(args, env)
      const spare = killsInRound >= KILLS_A_ROUND_MAX
      const struck = spare ? null : await strike(running, lots)
      const ended = await running.ended
      const where = `${lots.replay}, start ${starts}: ${ended.stderr.slice(-2_000)}`
      if (ended.signal === 'SIGKILL') {
        kills += 1
        killsInRound += 1
        killed[phaseOf(ended.stderr, await readdir(trial.warehouse).catch(() => []))] += 1
      } else if (ended.code === 0) {
        completed += 1
        killsInRound = 0
        expect(await query(trial.published, 'SELECT * FROM _sync.tasks'), where).toEqual([])
        await look(where)
        await world.advance('PT6H')
        moments.push(await truthRows(server))
      } else {
        // Damage that only shows as it is read ends a run; the next one has it set aside.
        expect(ended.code, `${where}, ${struck}`).toBe(7)
        expect(ended.stderr + ended.stdout, where).toMatch(/damaged/)
        damageMet += 1
      }
      await look(where)
    }

    let last = await trial.run([...args, '--full'], env)
    if (last.code === 7) last = await trial.run([...args, '--full'], env)
    expect(last, lots.replay).toMatchObject({ code: 0 })
    await look('in the end')
    const stored = await warehouseRows(trial.published)
    const now = await truthRows(server)
    expect([...stored.keys()]).toEqual([...now.keys()])
    for (const [key, rows] of stored) {
      expect(rows.survey, key).toEqual(now.get(key)?.survey)
      // A draft is read when it changes.
      if (rows.survey.status !== 'draft' && rows.survey.status !== 'user_demo')
        expect(rows, `${key}, ${lots.replay}`).toEqual(now.get(key))
    }
    console.info(
      `kills: ${kills} in ${starts} starts (${Object.entries(killed)
        .map(([phase, times]) => `${times} ${phase}`)
        .join(
          ', ',
        )}), ${completed} runs complete, ${damages} damages, ${damageMet} met while reading; ${lots.replay}`,
    )
  },
)

/** Kills the process when it has got somewhere, and a little later; it may be over by then. */
const strike = async (running: Running, lots: ReturnType<typeof chance>): Promise<string> => {
  const trigger = lots.oneOf(TRIGGERS)
  const requests = 1 + lots.below(80)
  const waitMs = trigger === 'now' ? lots.below(900) : lots.below(40)
  if (trigger === 'requests') {
    const enough = (stderr: string) => stderr.split('"msg":"request"').length > requests
    await said(running, enough).catch(() => undefined)
  } else if (trigger !== 'now') await said(running, trigger).catch(() => undefined)
  await Promise.race([new Promise((resolve) => setTimeout(resolve, waitMs)), running.ended])
  running.child.kill('SIGKILL')
  return `${trigger} ${requests} +${waitMs} ms`
}

/** The listing alone tells of a survey that was never read; all others are of one moment, whole. */
const isOfOneMoment = (
  key: string,
  rows: SurveyRows,
  moments: readonly ReadonlyMap<string, SurveyRows>[],
): boolean =>
  moments.some((moment) => {
    const then = moment.get(key)
    if (then === undefined) return false
    const texts = [
      JSON.stringify(sortedRows(then)),
      JSON.stringify(sortedRows({ ...UNREAD, survey: then.survey })),
    ]
    return texts.includes(JSON.stringify(sortedRows(rows)))
  })

const sortedRows = ({ survey, sources, progress, sourceProgress }: SurveyRows) =>
  [[survey], sources, [progress], sourceProgress].map((rows) =>
    rows.map((row) => Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  )
