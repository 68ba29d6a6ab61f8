/** Outcomes are committed in groups: those that arrive during a commit go into the next one. */
import { expect, test } from 'vitest'
import type { RowCountsByTable } from '../../../src/model/run.js'
import type { BundleOutcome } from '../../../src/model/warehouse.js'
import { createCommitQueue } from '../../../src/sync/commit-queue.js'

const NO_ROWS = { added: 0, changed: 0, unchanged: 0 }
const rowsOf = (added: number): RowCountsByTable => ({
  surveys: { ...NO_ROWS, added },
  sample_sources: NO_ROWS,
  survey_progress: NO_ROWS,
  sample_source_progress: NO_ROWS,
})
const gone = (surveyId: number): BundleOutcome => ({ kind: 'gone', surveyId, at: 0n })

/** Commits that end when the test says so. */
const scripted = () => {
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
  )
  return { queue, groups, added }
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
