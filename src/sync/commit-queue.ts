/**
 * Commits outcomes in groups: outcomes that arrive during a commit go into the next one. A bundle keeps its place until it is
 * committed, so only a few outcomes wait (docs/decisions/0036-commits-are-grouped.md).
 */
import type { RowCountsByTable } from '../model/run.js'
import type { BundleOutcome } from '../model/warehouse.js'

export interface CommitQueue {
  /** Resolves when the outcome is committed; rejects when its commit failed. */
  commit(outcome: BundleOutcome): Promise<void>
}

export const createCommitQueue = (
  commitAll: (outcomes: readonly BundleOutcome[]) => Promise<RowCountsByTable>,
  committed: (rows: RowCountsByTable) => void,
): CommitQueue => {
  let waiting: BundleOutcome[] = []
  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null

  const commitWaiting = async (): Promise<void> => {
    const group = waiting
    waiting = []
    next = null
    committed(await commitAll(group))
  }

  return {
    commit: (outcome) => {
      waiting.push(outcome)
      // A failed commit rejects the promises of its own group only. The next group is committed all the same.
      next ??= last.then(commitWaiting, commitWaiting)
      last = next
      return next
    },
  }
}
