/**
 * The test kills the real process at random times and starts it again until all is done: while it opens, lists, refreshes,
 * publishes, or repairs earlier damage. After every kill the published file is sound, and every survey in it is from one
 * moment. A complete run leaves nothing over. In the end the tables equal the truth.
 */

import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startWorld } from '../support/api/reference-api.js'
import type { Running } from '../support/command/command.js'
import { openTrial, stderrShows } from '../support/command/trial.js'
import { DAMAGES } from '../support/files/damage.js'
import { envOf } from '../support/oracle/rate.js'
import { unsoundness } from '../support/oracle/soundness.js'
import { openWorld, type SurveyRows, truthRows, warehouseRows } from '../support/oracle/truth.js'
import { howMany } from '../support/suite/cases.js'
import { chance } from '../support/suite/chance.js'

const KILLS = howMany(1, 110)
/** At most this many kills in a row. Then one run may finish, and the world moves on. */
const KILLS_A_ROUND_MAX = 8
const STARTS_MAX = 20 + 6 * KILLS
/** Every survey is due after every step of the world. */
const REFRESH = { max_age: '1m' }
const UNREAD = { sources: [], progress: {}, sourceProgress: [] }

const READING = /"msg":"(reading \d+ surveys?:|no survey is due)/

/** The phase of a run, by its log and its files. */
const phaseOf = (stderr: string, files: readonly string[]) => {
  if (stderr.includes('"msg":"publishing"') || files.some((name) => name.includes('.publishing')))
    return 'publishing'
  if (READING.test(stderr)) return 'refreshing'
  if (stderr.includes('"msg":"request"')) return 'listing'
  return /is set aside|is rebuilt/.test(stderr) ? 'recovering' : 'opening'
}

const TRIGGERS: readonly (RegExp | 'now' | 'requests')[] = [
  'now',
  'requests',
  'requests',
  /"msg":"publishing"/,
  /"msg":"request"/,
  READING,
  /is set aside|is rebuilt|"msg":"request"/,
]

test('a sync that is killed at random, with lost and damaged files in between, always recovers', async (context) => {
  const lots = chance()
  const trial = await openTrial(context)
  await using server = await startWorld({ seed: 5, surveys: howMany(8, 25) })
  const world = openWorld(server)
  const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: '10000/1s' }
  const args = ['sync', '--log-level', 'debug', ...(await trial.settings({ refresh: REFRESH }))]
  const moments = [await truthRows(server)]
  const killed = { opening: 0, recovering: 0, listing: 0, refreshing: 0, publishing: 0 }
  let [kills, killsInRound, starts, damages, completed, damageMet] = [0, 0, 0, 0, 0, 0]

  const checkPublished = async (where: string): Promise<void> => {
    if (!existsSync(trial.published)) return
    expect(await unsoundness(trial.published), where).toEqual([])
    for (const [key, rows] of await warehouseRows(trial.published))
      expect(isOfOneMoment(key, rows, moments), `${key}, ${where}`).toBe(true)
    const unfinished = await trial.rows(`SELECT * FROM _sync.runs WHERE status = 'running'`)
    expect(unfinished, where).toEqual([])
  }

  while (kills < KILLS) {
    starts += 1
    expect(starts).toBeLessThanOrEqual(STARTS_MAX)
    // Before the first publish, a lost work database cannot be rebuilt, so files are damaged only afterwards.
    if (existsSync(trial.published) && lots.below(4) === 0) {
      const damage = lots.oneOf(DAMAGES)
      await damage.do(trial.warehouse, lots)
      damages += 1
    }
    const running = trial.start(args, env)
    const mayFinish = killsInRound >= KILLS_A_ROUND_MAX
    const kill = mayFinish ? null : await killAtRandom(running, lots)
    const ended = await running.ended
    const where = `${lots.replay}, start ${starts}: ${ended.stderr.slice(-2_000)}`
    if (ended.signal === 'SIGKILL') {
      kills += 1
      killsInRound += 1
      killed[phaseOf(ended.stderr, await readdir(trial.warehouse).catch(() => []))] += 1
    } else if (ended.code === 0) {
      completed += 1
      killsInRound = 0
      expect(await trial.rows('SELECT * FROM _sync.tasks'), where).toEqual([])
      await checkPublished(where)
      await world.advance('PT6H')
      moments.push(await truthRows(server))
    } else {
      // Damage that appears only on reading ends a run. The next run sets the file aside.
      expect(ended.code, `${where}, ${kill}`).toBe(7)
      expect(ended.stderr + ended.stdout, where).toMatch(/damaged/)
      damageMet += 1
    }
    await checkPublished(where)
  }

  let last = await trial.run([...args, '--full'], env)
  if (last.code === 7) last = await trial.run([...args, '--full'], env)
  expect(last, lots.replay).toMatchObject({ code: 0 })
  await checkPublished('in the end')
  const stored = await warehouseRows(trial.published)
  const now = await truthRows(server)
  expect([...stored.keys()]).toEqual([...now.keys()])
  for (const [key, rows] of stored) {
    expect(rows.survey, key).toEqual(now.get(key)?.survey)
    // Drafts and demos are read only when they change.
    if (rows.survey.status !== 'draft' && rows.survey.status !== 'user_demo')
      expect(rows, `${key}, ${lots.replay}`).toEqual(now.get(key))
  }
  const phases = Object.entries(killed).map(([phase, times]) => `${times} ${phase}`)
  console.info(
    `kills: ${kills} in ${starts} starts (${phases.join(', ')}), ${completed} runs complete, ${damages} damages, ${damageMet} met while reading; ${lots.replay}`,
  )
})

/** Kills the process at a random time or shortly after a random event. The process may have ended by then. */
const killAtRandom = async (running: Running, lots: ReturnType<typeof chance>): Promise<string> => {
  const trigger = lots.oneOf(TRIGGERS)
  const requests = 1 + lots.below(80)
  const waitMs = trigger === 'now' ? lots.below(900) : lots.below(40)
  if (trigger === 'requests') {
    const enough = (stderr: string) => stderr.split('"msg":"request"').length > requests
    await stderrShows(running, enough).catch(() => undefined)
  } else if (trigger !== 'now') await stderrShows(running, trigger).catch(() => undefined)
  await Promise.race([new Promise((resolve) => setTimeout(resolve, waitMs)), running.ended])
  running.child.kill('SIGKILL')
  return `${trigger} ${requests} +${waitMs} ms`
}

/** A survey that was never read has only its listed row. All rows of any other survey are from one moment. */
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
