/**
 * The real command runs on the files of a killed run, damaged in every known way. It reports the damage, recovers by
 * itself, and stores the truth. The published file is sound at every step.
 */

import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ReferenceServer } from '../../src/reference-server/server.js'
import { startWorld } from '../support/api/reference-api.js'
import { start } from '../support/command/command.js'
import { answered, stderrShows } from '../support/command/trial.js'
import { runWarm } from '../support/command/warm.js'
import { blocksOf, DAMAGES, scribbleBlock } from '../support/files/damage.js'
import { atEndOfFile, type Finished, temporaryDirectory } from '../support/files/temporary.js'
import { unlimitedEnv } from '../support/oracle/rate.js'
import { unsoundness } from '../support/oracle/soundness.js'
import { openWorld, truthRows, type WorldRows, warehouseRows } from '../support/oracle/truth.js'
import { chance } from '../support/suite/chance.js'

/** Runs until one is complete. The first run may find the damage, and the second sets the file aside. */
const RUNS_MAX = 3
const lots = chance()

let server: ReferenceServer
/** A warehouse that was published once and killed during its next run, so it has a write-ahead log. */
let killed = ''
let truth: WorldRows

const environment = (warehouse: string) => unlimitedEnv(server, warehouse)

beforeAll(async () => {
  server = await startWorld({ seed: 3, surveys: 12 })
  atEndOfFile(() => server.close())
  killed = join(await temporaryDirectory(atEndOfFile), 'warehouse')
  expect(await runWarm(['sync'], environment(killed))).toMatchObject({ code: 0 })
  await openWorld(server).advance('P1D')
  const running = start(['sync', '--log-level', 'debug'], environment(killed))
  await stderrShows(running, answered(20))
  running.child.kill('SIGKILL')
  expect(await running.ended).toMatchObject({ signal: 'SIGKILL' })
  expect(await readdir(killed)).toContain('work.duckdb.wal')
  truth = await truthRows(server)
})

const copyOfKilled = async (onTestFinished: Finished): Promise<string> => {
  const warehouse = join(await temporaryDirectory(onTestFinished), 'warehouse')
  await cp(killed, warehouse, { recursive: true })
  return warehouse
}

/** Runs until one is complete, and returns the text on stderr. Every other run must report damage. */
const recover = async (warehouse: string): Promise<string> => {
  let stderr = ''
  for (let runs = 1; ; runs += 1) {
    expect(runs, stderr).toBeLessThanOrEqual(RUNS_MAX)
    const ended = await runWarm(['sync', '--full'], environment(warehouse))
    stderr += ended.stderr
    expect(await unsoundness(join(warehouse, 'fieldwork.duckdb')), `${lots.replay}\n${stderr}`).toEqual([])
    if (ended.code === 0) return stderr
    expect(ended.code, `${lots.replay}\n${stderr}`).toBe(7)
    expect(ended.stderr + ended.stdout).toMatch(/damaged/)
  }
}

const expectTruth = async (warehouse: string, stderr: string): Promise<void> => {
  const stored = await warehouseRows(join(warehouse, 'fieldwork.duckdb'))
  expect([...stored.keys()]).toEqual([...truth.keys()])
  for (const [key, rows] of stored) {
    // Drafts and long complete surveys are not read again; only their listed rows are current.
    expect(rows.survey, `${lots.replay}\n${stderr}`).toEqual(truth.get(key)?.survey)
    if (rows.survey.status === 'fieldwork') expect(rows, lots.replay).toEqual(truth.get(key))
  }
  const isSetAside = (await readdir(warehouse)).some((name) => name.includes('damaged'))
  expect(stderr.includes('is set aside'), stderr).toBe(isSetAside)
}

// test/unit/warehouse/lifecycle/open rebuilds a work database from a published file too.

test.for(DAMAGES)('$what: the run reports it and recovers', async (damage, { onTestFinished }) => {
  for (let round = 0; round < 3; round += 1) {
    const warehouse = await copyOfKilled(onTestFinished)
    await damage.do(warehouse, lots)
    const stderr = await recover(warehouse)
    await expectTruth(warehouse, stderr)
    if (damage.what.startsWith('the work database is deleted'))
      expect(stderr).toContain('the work database was lost and is rebuilt from the published file')
  }
})

test('a sync never publishes garbage in a block, whether the run reads that block or not', async ({
  onTestFinished,
}) => {
  const blocks = await blocksOf(join(killed, 'work.duckdb'))
  expect(blocks).toBeGreaterThan(4)
  let found = 0
  for (let block = 0; block < blocks; block += 1) {
    const warehouse = await copyOfKilled(onTestFinished)
    await scribbleBlock(join(warehouse, 'work.duckdb'), block)
    const stderr = await recover(warehouse)
    if (stderr.includes('damaged')) found += 1
    await expectTruth(warehouse, stderr)
    // Rebuilding a work database from the published file proves that all of it can be read.
    await rm(join(warehouse, 'work.duckdb'))
    const rebuilt = await runWarm(['sync'], environment(warehouse))
    expect(rebuilt, `block ${block} of ${blocks}: ${rebuilt.stderr}`).toMatchObject({ code: 0 })
  }
  console.info(`damage: ${blocks} blocks, ${found} noticed`)
})

test('a work database does not replay the write-ahead log of another one', async ({ onTestFinished }) => {
  const warehouse = await copyOfKilled(onTestFinished)
  const other = join(await temporaryDirectory(onTestFinished), 'other')
  expect(await runWarm(['sync'], environment(other))).toMatchObject({ code: 0 })
  await cp(join(other, 'work.duckdb'), join(warehouse, 'work.duckdb'))
  await expectTruth(warehouse, await recover(warehouse))
})

describe('the published file is damaged too', () => {
  test.for(['garbage '.repeat(1_000), ''])(
    'without the work database a run exits 7, sends no request and changes no file; with it the run publishes anew',
    async (content, { onTestFinished }) => {
      const warehouse = await copyOfKilled(onTestFinished)
      const published = join(warehouse, 'fieldwork.duckdb')
      // The published file is read-only, so it is replaced.
      await rm(published)
      await writeFile(published, content)
      await cp(join(warehouse, 'work.duckdb'), join(warehouse, 'kept'))
      await rm(join(warehouse, 'work.duckdb'))
      const world = openWorld(server)
      const before = (await world.requests()).length
      const lost = await runWarm(['sync'], environment(warehouse))
      expect(lost.code).toBe(7)
      expect(lost.stderr).toMatch(
        /cannot be rebuilt\. .*Restore the published state from a backup, or move it away/,
      )
      expect((await world.requests()).length).toBe(before)
      expect(await readFile(published, 'utf8')).toBe(content)
      await cp(join(warehouse, 'kept'), join(warehouse, 'work.duckdb'))
      expect(await runWarm(['sync', '--full'], environment(warehouse))).toMatchObject({ code: 0 })
      await expectTruth(warehouse, '')
    },
  )
})
