/** Outcomes are committed in groups: those that arrive during a commit go into the next one. */
import { expect, test } from 'vitest'
import type { RowCountsByTable } from '../../../src/model/run.js'
import type { BundleOutcome } from '../../../src/model/warehouse.js'
import { createCommitQueue } from '../../../src/sync/commit-queue.js'
import { testClock } from '../../support/time/test-clock.js'
import { bundle, progress, source } from '../../support/warehouse/rows.js'

const NO_ROWS = { added: 0, changed: 0, unchanged: 0 }
const rowsOf = (added: number): RowCountsByTable => ({
  surveys: { ...NO_ROWS, added },
  sample_sources: NO_ROWS,
  survey_progress: NO_ROWS,
  sample_source_progress: NO_ROWS,
})
const gone = (surveyId: number): BundleOutcome => ({ kind: 'gone', surveyId, at: 0n })

/** Commits that end when the test says so, by a clock that stands still until the test moves it. */
const scripted = () => {
  const clock = testClock()
  const groups: { ids: number[]; end(): void; fail(): void }[] = []
  const added: number[] = []
  const queue = createCommitQueue(
    (outcomes) =>
      new Promise((resolve, reject) => {
        groups.push({
          ids: outcomes.map(({ surveyId }) => surveyId),
          end: () => resolve(rowsOf(outcomes.length)),
          fail: () => reject(new Error('disk full')),
        })
      }),
    (rows) => added.push(rows.surveys?.added ?? -1),
    clock,
  )
  return { queue, groups, added, clock }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('commits the first outcome at once, and those that arrive meanwhile together', async () => {
  const { queue, groups, added } = scripted()
  const first = queue.commit(gone(1))
  await settled()
  const others = [queue.commit(gone(2)), queue.commit(gone(3))]
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1]])
  groups[0]?.end()
  await first
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1], [2, 3]])
  groups[1]?.end()
  await Promise.all(others)
  expect(added).toEqual([1, 2])
})

test('a failed commit rejects every outcome of its group, and the next group is committed by itself', async () => {
  const { queue, groups, added } = scripted()
  const failing = [queue.commit(gone(1)), queue.commit(gone(2))].map((commit) =>
    commit.catch((error: unknown) => String(error)),
  )
  await settled()
  const next = queue.commit(gone(3))
  groups[0]?.fail()
  expect(await Promise.all(failing)).toEqual(['Error: disk full', 'Error: disk full'])
  await settled()
  groups[1]?.end()
  await next
  expect(groups.map(({ ids }) => ids)).toEqual([[1, 2], [3]])
  expect(added).toEqual([1])
})

/** A queue that has committed 64 outcomes, the last of them in 50 ms, and in which another outcome waits. */
const afterSlowCommit = async () => {
  const all = scripted()
  const before = Array.from({ length: 63 }, (_, id) => all.queue.commit(gone(1_000 + id)))
  await settled()
  all.groups[0]?.end()
  await Promise.all(before)
  all.groups.length = 0
  const first = all.queue.commit(gone(1))
  await settled()
  all.clock.advance(50)
  all.groups[0]?.end()
  await first
  const second = all.queue.commit(gone(2))
  await settled()
  return { ...all, second }
}

test('after a commit the next one pauses nine times as long as it took, and takes what arrives meanwhile', async () => {
  const { queue, groups, clock } = await afterSlowCommit()
  clock.advance(449)
  await settled()
  expect(groups).toHaveLength(1)
  void queue.commit(gone(3))
  clock.advance(1)
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1], [2, 3]])
})

test('an outcome that arrives after that pause is committed at once', async () => {
  const { queue, groups, clock, second } = await afterSlowCommit()
  clock.advance(450)
  await settled()
  groups[1]?.end()
  await second
  clock.advance(1)
  void queue.commit(gone(3))
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1], [2], [3]])
})

test('a flush ends the pause', async () => {
  const { queue, groups } = await afterSlowCommit()
  expect(groups).toHaveLength(1)
  queue.flush()
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1], [2]])
})

test('64 waiting outcomes fill the queue, and are committed without a pause', async () => {
  const { queue, groups } = await afterSlowCommit()
  for (let id = 3; id <= 64; id += 1) void queue.commit(gone(id))
  expect(queue.isFull(63)).toBe(false)
  void queue.commit(gone(65))
  expect(queue.isFull(0)).toBe(true)
  await settled()
  expect(groups.map(({ ids }) => ids.length)).toEqual([1, 64])
  expect(queue.isFull(63)).toBe(false)
})

test.each([
  [999, false],
  [1_000, true],
])('an outcome with %d sources and their progress fills the queue: %s', async (count, isFull) => {
  const { queue } = await afterSlowCommit()
  const sources = Array.from({ length: count }, (_, id) => source(id))
  void queue.commit(bundle(3, 0n, sources, progress(1)))
  expect(queue.isFull(0)).toBe(isFull)
})

test('no more is under way than was committed, and the first 64 outcomes are committed without a pause', async () => {
  const { queue, groups, clock } = scripted()
  expect(queue.isFull(0)).toBe(true)
  const first = queue.commit(gone(1))
  await settled()
  clock.advance(500)
  groups[0]?.end()
  await first
  expect([queue.isFull(0), queue.isFull(1)]).toEqual([false, true])
  void queue.commit(gone(2))
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1], [2]])
})
