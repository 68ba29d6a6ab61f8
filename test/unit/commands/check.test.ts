/** What `check` says about the request that it makes. */
import { statfs, truncate } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { Clock } from '../../../src/base/clock.js'
import { checkAll } from '../../../src/commands/check.js'
import { workFile } from '../../../src/warehouse/lifecycle/files.js'
import { scriptedSurvey, startScriptedApi } from '../../support/api/scripted-api.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { testLog } from '../../support/log/test-log.js'
import { load } from '../../support/settings/settings-from-yaml.js'
import { testClock } from '../../support/time/test-clock.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'

const WINDOW_MS = 10_000
/** How long the API takes. */
const ANSWER_MS = 250

/** A clock on which the next wait passes at once, after `skipNext`. */
const skippingClock = (): Clock & { advance(ms: number): void; skipNext(): void } => {
  const clock = testClock()
  let skips = false
  return {
    ...clock,
    skipNext: () => {
      skips = true
    },
    after: (durationMs, act) => {
      const cancel = clock.after(durationMs, act)
      if (skips) setImmediate(() => clock.advance(durationMs))
      skips = false
      return cancel
    },
  }
}

test('the wait for a slot is reported separately from the response time of the API', async ({
  onTestFinished,
}) => {
  const clock = skippingClock()
  const api = await startScriptedApi([scriptedSurvey(1)], onTestFinished)
  api.hook = () => {
    clock.advance(ANSWER_MS)
    return false
  }
  const settings = await load({
    env: {
      ...api.env,
      FIELDWORK_SYNC_WAREHOUSE: await temporaryDirectory(),
      FIELDWORK_SYNC_RATE_LIMIT: `1/${WINDOW_MS}ms`,
    },
  })
  const check = async () => {
    const { checks } = await checkAll(
      { settings, runId: 'r', log: testLog(), signal: new AbortController().signal },
      clock,
    )
    return checks.find(({ what }) => what === 'API of default')?.detail
  }
  expect(await check()).toMatch(/ answers in 250 ms and shows 1 survey$/)
  clock.skipNext()
  expect(await check()).toMatch(/ answers in 250 ms and shows 1 survey; waited 10 s for a free slot$/)
})

test('a disk that has no room for the copy of a publish is a failed check', async ({ onTestFinished }) => {
  const api = await startScriptedApi([scriptedSurvey(1)], onTestFinished)
  const { directory, database } = await testWarehouse()
  await database.close()
  const settings = await load({ env: { ...api.env, FIELDWORK_SYNC_WAREHOUSE: directory } })
  const check = () => checkAll({ settings, runId: 'r', log: testLog(), signal: new AbortController().signal })
  expect(await check()).toMatchObject({ exitCode: 0 })
  const { bavail, bsize } = await statfs(directory)
  // The file has a hole, and takes no space.
  await truncate(workFile(directory), 2 * bavail * bsize)
  const { checks, exitCode } = await check()
  expect(exitCode).toBe(7)
  expect(checks.filter(({ ok }) => !ok)).toEqual([
    {
      what: 'free space',
      ok: false,
      detail: expect.stringMatching(
        /^the disk of \/\S+ has [\d.,]+ .iB free, and a publish copies work\.duckdb, which has [\d.,]+ .iB: free some space$/,
      ),
    },
  ])
  expect(checks.at(-1)).toMatchObject({ what: 'API of default', ok: true })
})
