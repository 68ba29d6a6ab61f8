/**
 * Files of a warehouse that was killed in mid-run, damaged in every way that has a name, under the real command: it says
 * what it found, goes on by itself, and the tables end as the truth. What readers see is sound at every step.
 */
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ReferenceServer, startReferenceServer } from '../../src/reference-server/server.js'
import { start } from '../support/command/command.js'
import { answered, said } from '../support/command/trial.js'
import { runWarm } from '../support/command/warm.js'
import { blocksOf, DAMAGES, type Damage, scribbleBlock } from '../support/files/damage.js'
import { type Finished, temporaryDirectory } from '../support/files/temporary.js'
import { envOf } from '../support/oracle/rate.js'
import { unsoundness } from '../support/oracle/soundness.js'
import { openWorld, truthRows, type WorldRows, warehouseRows } from '../support/oracle/truth.js'
import { chance } from '../support/suite/chance.js'
import { SLOW } from '../support/suite/slow.js'

/** Runs until one is complete: one that finds the damage as it goes, one that sets it aside. */
const RUNS_MAX = 3
const finished: (() => Promise<void> | void)[] = []
const lots = chance()

let server: ReferenceServer
/** Published once, and then killed half way through the next day: with a write-ahead log. */
let killed = ''
let truth: WorldRows

const environment = (warehouse: string) => ({
  ...envOf(server),
  FIELDWORK_SYNC_RATE_LIMIT: '10000/1s',
  FIELDWORK_SYNC_WAREHOUSE: warehouse,
})

beforeAll(async () => {
  server = await startReferenceServer({ port: 0, seed: 3, surveys: 12, rateWindow: 'none', clock: 'frozen' })
  killed = join(await temporaryDirectory((work) => void finished.push(work)), 'warehouse')
  expect(await runWarm(['sync'], environment(killed))).toMatchObject({ code: 0 })
  await openWorld(server).advance('P1D')
  const running = start(['sync', '--log-level', 'debug'], environment(killed))
  await said(running, answered(20))
  running.child.kill('SIGKILL')
  expect(await running.ended).toMatchObject({ signal: 'SIGKILL' })
  expect(await readdir(killed)).toContain('work.duckdb.wal')
  truth = await truthRows(server)
})

afterAll(async () => {
  await server.close()
  for (const work of finished) await work()
})

const copyOfKilled = async (onTestFinished: Finished): Promise<string> => {
  const warehouse = join(await temporaryDirectory(onTestFinished), 'warehouse')
  await cp(killed, warehouse, { recursive: true })
  return warehouse
}

/** Runs until one is complete, and tells all of stderr. What is not complete has to say that it met damage. */
const goOn = async (warehouse: string): Promise<string> => {
  let told = ''
  for (let runs = 1; ; runs += 1) {
    expect(runs, told).toBeLessThanOrEqual(RUNS_MAX)
    const ended = await runWarm(['sync', '--full'], environment(warehouse))
    told += ended.stderr
    expect(await unsoundness(join(warehouse, 'fieldwork.duckdb')), `${lots.replay}\n${told}`).toEqual([])
    if (ended.code === 0) return told
    expect(ended.code, `${lots.replay}\n${told}`).toBe(7)
    expect(ended.stderr + ended.stdout).toMatch(/damaged/)
  }
}

const expectTruth = async (warehouse: string, told: string): Promise<void> => {
  const stored = await warehouseRows(join(warehouse, 'fieldwork.duckdb'))
  expect([...stored.keys()]).toEqual([...truth.keys()])
  for (const [key, rows] of stored) {
    // Drafts and what is long complete rest: the listing tells of them.
    expect(rows.survey, `${lots.replay}\n${told}`).toEqual(truth.get(key)?.survey)
    if (rows.survey.status === 'fieldwork') expect(rows, lots.replay).toEqual(truth.get(key))
  }
  const aside = (await readdir(warehouse)).some((name) => name.includes('damaged'))
  expect(told.includes('is set aside'), told).toBe(aside)
}

const QUICK = ['the work database is deleted']
const CHOSEN: readonly Damage[] = SLOW ? DAMAGES : DAMAGES.filter(({ what }) => QUICK.includes(what))

test.for(CHOSEN)('$what: the run says so and goes on', async (damage, { onTestFinished }) => {
  for (let round = 0; round < (SLOW ? 3 : 1); round += 1) {
    const warehouse = await copyOfKilled(onTestFinished)
    await damage.do(warehouse, lots)
    const told = await goOn(warehouse)
    await expectTruth(warehouse, told)
    if (damage.what.startsWith('the work database is deleted'))
      expect(told).toContain('the work database was lost and is rebuilt from the published file')
  }
})

test.runIf(SLOW)(
  'garbage in any block is never published, whether the run needs that block or not',
  {
    timeout: 300_000,
  },
  async ({ onTestFinished }) => {
    const blocks = await blocksOf(join(killed, 'work.duckdb'))
    expect(blocks).toBeGreaterThan(4)
    const chosen = SLOW ? Array.from({ length: blocks }, (_, block) => block) : [lots.below(blocks)]
    let found = 0
    for (const block of chosen) {
      const warehouse = await copyOfKilled(onTestFinished)
      await scribbleBlock(join(warehouse, 'work.duckdb'), block)
      const told = await goOn(warehouse)
      if (told.includes('damaged')) found += 1
      await expectTruth(warehouse, told)
      // The proof that all of it can be read: a work database is rebuilt from it.
      await rm(join(warehouse, 'work.duckdb'))
      const rebuilt = await runWarm(['sync'], environment(warehouse))
      expect(rebuilt, `block ${block} of ${blocks}: ${rebuilt.stderr}`).toMatchObject({ code: 0 })
    }
    console.info(`damage: ${chosen.length} of ${blocks} blocks, ${found} noticed`)
  },
)

test.skipIf(!SLOW)(
  'the write-ahead log of another database is not taken for its own',
  async ({ onTestFinished }) => {
    const warehouse = await copyOfKilled(onTestFinished)
    const other = join(await temporaryDirectory(onTestFinished), 'other')
    expect(await runWarm(['sync'], environment(other))).toMatchObject({ code: 0 })
    await cp(join(other, 'work.duckdb'), join(warehouse, 'work.duckdb'))
    await expectTruth(warehouse, await goOn(warehouse))
  },
)

describe('the published file is damaged too', () => {
  const damages = ['garbage '.repeat(1_000), ''] as const
  test.for(SLOW ? damages : damages.slice(0, 1))(
    'with the work database lost: exit 7, nothing is asked and nothing harmed; without: it is published anew',
    async (content, { onTestFinished }) => {
      const warehouse = await copyOfKilled(onTestFinished)
      const published = join(warehouse, 'fieldwork.duckdb')
      // Nobody may write into what is published.
      await rm(published)
      await writeFile(published, content)
      await cp(join(warehouse, 'work.duckdb'), join(warehouse, 'kept'))
      await rm(join(warehouse, 'work.duckdb'))
      const world = openWorld(server)
      const before = (await world.requests()).length
      const lost = await runWarm(['sync'], environment(warehouse))
      expect(lost.code).toBe(7)
      expect(lost.stderr).toMatch(/cannot be rebuilt from .*Restore that file, or move it away/)
      expect((await world.requests()).length).toBe(before)
      expect(await readFile(published, 'utf8')).toBe(content)
      await cp(join(warehouse, 'kept'), join(warehouse, 'work.duckdb'))
      expect(await runWarm(['sync', '--full'], environment(warehouse))).toMatchObject({ code: 0 })
      await expectTruth(warehouse, '')
    },
  )
})
