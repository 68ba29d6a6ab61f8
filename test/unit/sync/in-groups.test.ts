/** Items are committed in groups: those that arrive during a commit go into the next one. */
import { expect, test } from 'vitest'
import type { AccountWarehouse, ListingPage } from '../../../src/model/warehouse.js'
import type { Task } from '../../../src/rules/queue.js'
import { CommitQueue, createPageCommits, readStoredAhead } from '../../../src/sync/in-groups.js'
import { createRunState } from '../../../src/sync/run-state.js'
import { rowsInOutcome } from '../../../src/sync/worker.js'
import { memorySource } from '../../support/api/memory-source.js'
import { minute } from '../../support/time/instants.js'
import { testClock } from '../../support/time/test-clock.js'
import { begin, bundle, listingPage, progress, RUN, source, survey } from '../../support/warehouse/rows.js'
import { runDependencies } from '../../support/warehouse/run-dependencies.js'
import { sharedWarehouse } from '../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

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

const WAIT_MS = 250

test('the first item waits a quarter of a second, and those that arrive meanwhile are committed with it', async () => {
  const { queue, groups, clock } = scripted()
  void queue.commit(item(1))
  await settled()
  clock.advance(WAIT_MS - 1)
  void queue.commit(item(2))
  await settled()
  expect(groups).toEqual([])
  clock.advance(1)
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1, 2]])
})

test('those that arrive during a commit wait as long after it', async () => {
  const { queue, groups, committed, clock } = scripted()
  const first = queue.commit(item(1))
  await settled()
  clock.advance(WAIT_MS)
  await settled()
  const others = [queue.commit(item(2)), queue.commit(item(3))]
  clock.advance(WAIT_MS)
  groups[0]?.end()
  await first
  await settled()
  clock.advance(WAIT_MS - 1)
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1]])
  clock.advance(1)
  await settled()
  groups[1]?.end()
  await Promise.all(others)
  expect(groups.map(({ ids }) => ids)).toEqual([[1], [2, 3]])
  expect(committed).toEqual([1, 2])
})

test('a failed commit rejects every item of its group, and the next group is committed by itself', async () => {
  const { queue, groups, committed } = scripted()
  const failing = [queue.commit(item(1)), queue.commit(item(2))].map((commit) =>
    commit.catch((error: unknown) => String(error)),
  )
  queue.flush()
  await settled()
  const next = queue.commit(item(3))
  queue.flush()
  groups[0]?.fail()
  expect(await Promise.all(failing)).toEqual(['Error: disk full', 'Error: disk full'])
  await settled()
  groups[1]?.end()
  await next
  expect(groups.map(({ ids }) => ids)).toEqual([[1, 2], [3]])
  expect(committed).toEqual([1])
})

test('a flush ends the wait, and not that of the next item', async () => {
  const { queue, groups } = scripted()
  const first = queue.commit(item(1))
  await settled()
  expect(groups).toEqual([])
  queue.flush()
  await settled()
  groups[0]?.end()
  await first
  void queue.commit(item(2))
  await settled()
  expect(groups.map(({ ids }) => ids)).toEqual([[1]])
})

test('256 waiting items fill the queue, and are committed at once', async () => {
  const { queue, groups } = scripted()
  for (let id = 1; id <= 255; id += 1) void queue.commit(item(id))
  await settled()
  expect([queue.isFull(), groups.length]).toEqual([false, 0])
  void queue.commit(item(256))
  expect(queue.isFull()).toBe(true)
  await settled()
  expect(groups.map(({ ids }) => ids.length)).toEqual([256])
  expect(queue.isFull()).toBe(false)
})

test.each([
  [4_999, false],
  [5_000, true],
])('an item with %d rows fills the queue: %s', (rows, isFull) => {
  const { queue } = scripted()
  void queue.commit(item(1, rows))
  expect(queue.isFull()).toBe(isFull)
})

test('the rows of a survey are its sources and their progress', () => {
  const sources = Array.from({ length: 1_000 }, (_, id) => source(id))
  expect(rowsInOutcome(bundle(3, 0n, sources, progress(1)))).toBe(2_000)
  expect(rowsInOutcome({ kind: 'gone', surveyId: 3, at: 0n })).toBe(0)
})

/** The pages of a listing are committed in groups while the next pages are read, and none behind a failed commit. */

const page = (number: number): ListingPage =>
  listingPage([survey(number)], minute(0), { page: number, nextPage: number + 1 })
const pagination = (number: number) => ({
  current_page: number,
  next_page: number + 1,
  prev_page: null,
  total_pages: 9,
  total_count: 9,
})

/** A warehouse whose commits of pages are recorded, and fail from the group with page `failsAt` on. */
const recorded = async (failsAt = Number.POSITIVE_INFINITY) => {
  const warehouse = await emptyWarehouse()
  const groups: number[][] = []
  const account: AccountWarehouse = {
    ...warehouse.account,
    commitListingPages: async (pages) => {
      groups.push(pages.map((one) => one.page))
      if (pages.some((one) => one.page === failsAt)) throw new Error('disk full')
      return await warehouse.account.commitListingPages(pages)
    },
  }
  const reported: number[] = []
  const dependencies = runDependencies({ ...warehouse, account }, memorySource())
  const observer = {
    ...dependencies.observer,
    listed: ({ page: number }: { page: number }) => reported.push(number),
  }
  const state = createRunState()
  await begin(account, minute(0))
  return {
    commits: createPageCommits({ ...dependencies, observer, state }),
    warehouse,
    groups,
    reported,
    state,
  }
}

test('pages that were read meanwhile are committed together, in order', async () => {
  const { commits, groups, reported, state, warehouse } = await recorded()
  const numbers = Array.from({ length: 60 }, (_, at) => at + 1)
  for (const number of numbers) await commits.add(page(number), pagination(number))
  await commits.allEnd()
  expect(groups).toEqual([numbers])
  expect(reported).toEqual(numbers)
  expect(state.counts.surveysListed).toBe(60)
  expect(state.rows.surveys).toEqual({ added: 60, changed: 0, unchanged: 0 })
  await warehouse.expectRows('SELECT next_page FROM _sync.listings', [[61]])
})

test('after a failed commit no later page is committed, so the next run begins at the gap', async () => {
  const { commits, groups, warehouse, state } = await recorded(3)
  const add = (number: number) => commits.add(page(number), pagination(number))
  await add(1)
  await add(2)
  await commits.allEnd()
  await add(3)
  await expect(commits.allEnd()).rejects.toThrow('disk full')
  await expect(add(4)).rejects.toThrow('disk full')
  await expect(commits.allEnd()).rejects.toThrow('disk full')
  await expect(commits.hasTasks()).rejects.toThrow('disk full')
  expect(groups).toEqual([[1, 2], [3]])
  expect(state.counts.surveysListed).toBe(2)
  await warehouse.expectRows('SELECT next_page FROM _sync.listings', [[3]])
})

test('whether surveys are queued is answered after the pages that wait', async () => {
  const { commits } = await recorded()
  expect(await commits.hasTasks()).toBe(false)
  const added = commits.add(page(1), pagination(1))
  expect(await commits.hasTasks()).toBe(true)
  await added
})

/** What is stored of the surveys in the queue is read for many at once, in the order of the queue. */

const task = (surveyId: number, reserve = 3): Task => ({
  surveyId,
  reason: 'active',
  isQueued: true,
  isTouched: false,
  isLeftOver: false,
  isUnseen: false,
  isBegun: false,
  refusals: 0,
  requests: { sample_sources: 1, survey_progress: 1, sample_source_progress: 1 },
  reserve,
  since: 0n,
  urgency: 0,
  createdAt: 0,
})

/** A warehouse with survey 1 and its source, and the numbers of surveys that were read at once. */
const counting = async (tasks: readonly Task[]) => {
  const { account } = await emptyWarehouse()
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
