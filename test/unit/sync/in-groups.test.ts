/** Items are committed in groups: those that arrive during a commit go into the next one. */
import { expect, test } from 'vitest'
import { CommitQueue } from '../../../src/sync/in-groups.js'
import { rowsInOutcome } from '../../../src/sync/worker.js'
import { testClock } from '../../support/time/test-clock.js'
import { bundle, progress, source } from '../../support/warehouse/rows.js'

interface Item {
  readonly id: number
  readonly rows: number
}
const item = (id: number, rows = 0): Item => ({ id, rows })

/** Commits that end when the test says so, by a clock that stands still until the test moves it. */
const scripted = () => {
  const clock = testClock()
  const groups: { ids: number[]; end(): void; fail(): void }[] = []
  const committed: number[] = []
  const queue = new CommitQueue<Item>({
    commitAll: async (items) => {
      await new Promise<void>((resolve, reject) => {
        groups.push({
          ids: items.map(({ id }) => id),
          end: () => resolve(),
          fail: () => reject(new Error('disk full')),
        })
      })
      committed.push(items.length)
    },
    rowsIn: ({ rows }) => rows,
    clock,
  })
  return { queue, groups, committed, clock }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('commits the first item at once, and those that arrive meanwhile together', async () => {
  const { queue, groups, committed } = scripted()
  const first = queue.commit(item(1))
  await settled()
  const others = [queue.commit(item(2)), queue.commit(item(3))]
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1]])
  groups[0]?.end()
  await first
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1], [2, 3]])
  groups[1]?.end()
  await Promise.all(others)
  expect(committed).toEqual([1, 2])
})

test('a failed commit rejects every item of its group, and the next group is committed by itself', async () => {
  const { queue, groups, committed } = scripted()
  const failing = [queue.commit(item(1)), queue.commit(item(2))].map((commit) =>
    commit.catch((error: unknown) => String(error)),
  )
  await settled()
  const next = queue.commit(item(3))
  groups[0]?.fail()
  expect(await Promise.all(failing)).toEqual(['Error: disk full', 'Error: disk full'])
  await settled()
  groups[1]?.end()
  await next
  expect(groups.map(({ ids }) => ids)).toEqual([[1, 2], [3]])
  expect(committed).toEqual([1])
})

/** A queue that has committed 64 items, the last of them in 50 ms, and in which another item waits. */
const afterSlowCommit = async () => {
  const all = scripted()
  const before = Array.from({ length: 63 }, (_, id) => all.queue.commit(item(1_000 + id)))
  await settled()
  all.groups[0]?.end()
  await Promise.all(before)
  all.groups.length = 0
  const first = all.queue.commit(item(1))
  await settled()
  all.clock.advance(50)
  all.groups[0]?.end()
  await first
  const second = all.queue.commit(item(2))
  await settled()
  return { ...all, second }
}

test('after a commit the next one pauses nine times as long as it took, and takes what arrives meanwhile', async () => {
  const { queue, groups, clock } = await afterSlowCommit()
  clock.advance(449)
  await settled()
  expect(groups).toHaveLength(1)
  void queue.commit(item(3))
  clock.advance(1)
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1], [2, 3]])
})

test('an item that arrives after that pause is committed at once', async () => {
  const { queue, groups, clock, second } = await afterSlowCommit()
  clock.advance(450)
  await settled()
  groups[1]?.end()
  await second
  clock.advance(1)
  void queue.commit(item(3))
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

test('256 waiting items fill the queue, and are committed without a pause', async () => {
  const { queue, groups } = await afterSlowCommit()
  for (let id = 3; id <= 256; id += 1) void queue.commit(item(id))
  expect(queue.isFull(63)).toBe(false)
  void queue.commit(item(257))
  expect(queue.isFull(8)).toBe(true)
  await settled()
  expect(groups.map(({ ids }) => ids.length)).toEqual([1, 256])
  expect(queue.isFull(63)).toBe(false)
})

test.each([
  [4_999, false],
  [5_000, true],
])('an item with %d rows fills the queue: %s', async (rows, isFull) => {
  const { queue } = await afterSlowCommit()
  void queue.commit(item(3, rows))
  expect(queue.isFull(8)).toBe(isFull)
})

test('the rows of a survey are its sources and their progress', () => {
  const sources = Array.from({ length: 1_000 }, (_, id) => source(id))
  expect(rowsInOutcome(bundle(3, 0n, sources, progress(1)))).toBe(2_000)
  expect(rowsInOutcome({ kind: 'gone', surveyId: 3, at: 0n })).toBe(0)
})

test('no more than eight are under way, or than were committed, and the first 64 items are committed without a pause', async () => {
  const { queue, groups, clock } = scripted()
  expect(queue.isFull(8)).toBe(true)
  const first = queue.commit(item(1))
  await settled()
  clock.advance(500)
  groups[0]?.end()
  await first
  expect([queue.isFull(7), queue.isFull(8)]).toEqual([false, true])
  void queue.commit(item(2))
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1], [2]])
})
