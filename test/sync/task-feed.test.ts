/** The queue as a run sees it: the most urgent task that it has not tried, none of them twice. */
import { expect, test } from 'vitest'
import type { Task } from '../../src/model/warehouse.js'
import { createTaskFeed } from '../../src/sync/planning/task-feed.js'
import { createTally } from '../../src/sync/tally.js'
import { memorySource } from '../support/memory-source.js'
import { runDependencies } from '../support/run-dependencies.js'
import { list, minute, RUN, survey, testWarehouse } from '../support/warehouse.js'

test('hands out every task once, in order of urgency, whatever fails or is still under way', async () => {
  const warehouse = await testWarehouse()
  const ids = Array.from({ length: 200 }, (_, index) => index + 1)
  await list(
    warehouse.account,
    ids.map((id) => survey(id)),
    minute(0),
    'full',
  )
  const inFlight: Task[] = []
  const tally = { ...createTally(), serverTime: minute(10) }
  const feed = createTaskFeed(runDependencies(warehouse, memorySource()), tally, () =>
    inFlight.map(({ surveyId }) => surveyId),
  )
  const seen: number[] = []
  for (let task = await feed.next(); task !== null; task = await feed.next()) {
    seen.push(task.surveyId)
    inFlight.push(task)
    if (inFlight.length < 8) continue
    const failed = inFlight.splice(0, 3)
    await warehouse.account.commitBundles(
      failed.map(({ surveyId }) => ({
        kind: 'failed',
        surveyId,
        at: minute(10),
        error: 'answered 500',
        isRefused: false,
        mayBeGone: false,
      })),
      RUN,
    )
  }
  expect(seen).toEqual(ids.toReversed())
  expect(await feed.next()).toBeNull()
})
