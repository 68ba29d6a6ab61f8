/**
 * Commits outcomes in groups: whatever is handed in while a commit is under way goes into the next one. A bundle holds
 * its place until it is committed, so that never more than a handful wait.
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
      // A failed commit has told those who waited for it; the next group is tried for itself.
      next ??= last.then(commitWaiting, commitWaiting)
      last = next
      return next
    },
  }
}
