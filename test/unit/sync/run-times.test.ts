/** The times of a run on a clock that is put back while it runs. */
import { expect, test } from 'vitest'
import type { Clock } from '../../../src/base/clock.js'
import { decodeAgain } from '../../../src/survey-api/resources.js'
import { replayAccount } from '../../../src/sync/replay.js'
import { runAccount } from '../../../src/sync/run.js'
import { memorySource } from '../../support/api/memory-source.js'
import { unsoundnessIn } from '../../support/oracle/soundness.js'
import { testClock } from '../../support/time/test-clock.js'
import { runDependencies } from '../../support/warehouse/run-dependencies.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'

const DAY_MS = 86_400_000

/** Each reading of the wall clock is a day before the last one. */
const backwardClock = (): Clock => {
  const clock = testClock()
  let readings = 0
  return {
    ...clock,
    nowMs: () => {
      readings += 1
      return clock.nowMs() - readings * DAY_MS
    },
  }
}

test('no run ends before it started', async () => {
  const warehouse = await testWarehouse()
  const dependencies = runDependencies(warehouse, memorySource({}))
  const synced = await runAccount({ ...dependencies, clock: backwardClock(), runId: 'synced' })
  const replaying = { ...dependencies, decodeAgain, clock: backwardClock(), runId: 'replayed' }
  const replayed = await replayAccount(replaying)
  for (const { startedAt, endedAt } of [synced, replayed]) expect(endedAt).toBe(startedAt)
  expect(await unsoundnessIn({ query: async (sql) => [...(await warehouse.rows(sql))] })).toEqual([])
})
