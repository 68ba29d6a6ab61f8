/** What is stored of the surveys in the queue is read for many at once, in the order of the queue. */
import { expect, test } from 'vitest'
import type { Task } from '../../../src/rules/queue.js'
import { readStoredAhead } from '../../../src/sync/in-groups.js'
import { minute } from '../../support/time/instants.js'
import { bundle, progress, RUN, source } from '../../support/warehouse/rows.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'

const task = (surveyId: number, reserve = 3): Task => ({
  surveyId,
  reason: 'active',
  isQueued: true,
  isLeftOver: false,
  refusals: 0,
  requests: { sample_sources: 1, survey_progress: 1, sample_source_progress: 1 },
  reserve,
  since: 0n,
  urgency: 0,
})

/** A warehouse with survey 1 and its source, and the numbers of surveys that were read at once. */
const counting = async (tasks: readonly Task[]) => {
  const { account } = await testWarehouse()
  await account.commitBundles([bundle(1, minute(0), [source(11)], progress(5))], RUN)
  const readAtOnce: number[] = []
  const ahead = readStoredAhead(
    {
      storedBundles: (ids) => {
        readAtOnce.push(ids.length)
        return account.storedBundles(ids)
      },
    },
    tasks,
  )
  return { ahead, readAtOnce }
}

test('256 surveys are read at once, then the next 256, each with its own rows', async () => {
  const tasks = Array.from({ length: 300 }, (_, index) => task(index + 1))
  const { ahead, readAtOnce } = await counting(tasks)
  const stored = await Promise.all(tasks.map((one) => ahead(one)))
  expect(readAtOnce).toEqual([256, 44])
  expect(stored[0]?.sourceProgress.map((row) => row.sample_source_id)).toEqual([11])
  expect(stored.slice(1).every(({ progress: none }) => none === null)).toBe(true)
})

test('surveys with many sources are read at once in smaller numbers, and at least one', async () => {
  const tasks = [task(1, 1_200), task(2, 600), task(3, 400), task(4, 5_000), task(5)]
  const { ahead, readAtOnce } = await counting(tasks)
  for (const one of tasks) await ahead(one)
  expect(readAtOnce).toEqual([2, 1, 1, 1])
})

test('a survey that is tried again is read again', async () => {
  const { ahead, readAtOnce } = await counting([task(1)])
  await ahead(task(1))
  expect((await ahead(task(1))).sources).toHaveLength(1)
  expect(readAtOnce).toEqual([1, 1])
})
