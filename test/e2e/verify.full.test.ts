/** On a good warehouse over a moving world, `verify` finds nothing wrong. */

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ReferenceServer } from '../../src/reference-server/server.js'
import { accountsOf, startWorld } from '../support/api/reference-api.js'
import { withSettings } from '../support/command/sync.js'
import { runWarm } from '../support/command/warm.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { openWorld } from '../support/oracle/truth.js'
import { chance } from '../support/suite/chance.js'

const RUNS = 50
const lots = chance(Number(process.env.CHAOS_SEED ?? 17))

let server: ReferenceServer

beforeAll(async () => {
  server = await startWorld({ seed: 31, surveys: 120, accounts: 2, pageSize: 15 })
})

afterAll(() => server.close())

test(`${RUNS} runs on a good warehouse over a moving world find nothing wrong`, async () => {
  const world = openWorld(server)
  const env = { FIELDWORK_SYNC_WAREHOUSE: await temporaryDirectory() }
  const args = await withSettings({ publish: ['duckdb', 'parquet'], ...accountsOf(server) })
  const totals = new Map<string, number>()
  for (let run = 0; run < RUNS; run += 1) {
    // A budget leaves surveys in the queue, and changed rows pending.
    const budget = run % 3 === 1 ? ['--max-requests', String(20 + lots.below(120))] : []
    const synced = await runWarm(['sync', ...args, ...budget, '--log-level', 'warn'], env)
    expect(synced.code, `${lots.replay}\n${synced.stderr}`).toBe(budget.length === 0 ? 0 : synced.code)
    await world.advance(`PT${lots.below(40)}H${lots.below(60)}M`)
    const verified = await runWarm(
      ['verify', ...args, '--json', '--sample', '60', '--seed', `night ${run}`],
      env,
    )
    const where = `${lots.replay}, run ${run}\n${verified.stderr}${verified.stdout.slice(0, 5_000)}`
    expect(verified.code, where).toBe(0)
    const { local, sample } = JSON.parse(verified.stdout)
    expect(local.problems, where).toEqual([])
    for (const { tables, findings } of sample.accounts) {
      expect(findings.filter(({ verdict }: { verdict: string }) => verdict === 'wrong')).toEqual([])
      for (const table of tables)
        for (const verdict of ['equal', 'moved', 'waiting', 'unclear'])
          totals.set(verdict, (totals.get(verdict) ?? 0) + table[verdict])
    }
  }
  console.info(`verify: ${RUNS} runs, rows by verdict ${JSON.stringify(Object.fromEntries(totals))}`)
  expect(totals.get('moved')).toBeGreaterThan(10)
})
