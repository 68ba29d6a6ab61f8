/** Items are written in batches: those that arrive during a commit, or in the pause after it, go into the next one. */
import { expect, test } from 'vitest'
import { Batch } from '../../../src/sync/batch.js'
import { testClock } from '../../support/time/test-clock.js'

/** Commits that end when the test says so, by a clock that stands still until the test moves it. */
const scripted = () => {
  const clock = testClock()
  const commits: { items: readonly number[]; end(): void; fail(): void }[] = []
  const batch = new Batch<number>(
    clock,
    (items) =>
      new Promise<void>((resolve, reject) => {
        commits.push({ items, end: () => resolve(), fail: () => reject(new Error('disk full')) })
      }),
  )
  return { batch, commits, clock, items: () => commits.map((commit) => commit.items) }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('an item is committed at once, and those that arrive meanwhile go into the next commit', async () => {
  const { batch, commits, items } = scripted()
  const first = batch.add(1)
  await settled()
  const others = [batch.add(2), batch.add(3)]
  expect(items()).toEqual([[1]])
  commits[0]?.end()
  await first
  await settled()
  expect(items()).toEqual([[1], [2, 3]])
  commits[1]?.end()
  await Promise.all(others)
  await batch.committed
})

test.each([
  [10, 30],
  [4_000, 250],
])('a commit of %d ms is followed by a pause of %d ms', async (tookMs, pauseMs) => {
  const { batch, commits, clock, items } = scripted()
  const first = batch.add(1)
  await settled()
  clock.advance(tookMs)
  commits[0]?.end()
  await first
  void batch.add(2)
  await settled()
  clock.advance(pauseMs - 1)
  void batch.add(3)
  await settled()
  expect(items()).toEqual([[1]])
  clock.advance(1)
  await settled()
  expect(items()).toEqual([[1], [2, 3]])
})

test('after a failed commit nothing more is committed', async () => {
  const { batch, commits, items } = scripted()
  const first = batch.add(1)
  await settled()
  const next = batch.add(2)
  commits[0]?.fail()
  await expect(first).rejects.toThrow('disk full')
  await expect(next).rejects.toThrow('disk full')
  await expect(batch.add(3)).rejects.toThrow('disk full')
  await expect(batch.committed).rejects.toThrow('disk full')
  expect(items()).toEqual([[1]])
})
