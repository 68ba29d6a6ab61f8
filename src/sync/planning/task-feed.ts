/** The queue as a run sees it: the most urgent task that it has not tried, one after the other, a batch at a time. */
import type { Task } from '../../model/warehouse.js'
import type { RunDependencies } from '../dependencies.js'
import type { Tally } from '../tally.js'

const TASKS_AT_A_TIME = 64

export const createTaskFeed = (
  { warehouse, runId }: RunDependencies,
  tally: Tally,
  /** Surveys that are under way or resting. */
  excluded: () => readonly number[],
): { next(): Promise<Task | null> } => {
  let batch: Task[] = []
  return {
    next: async () => {
      if (batch.length === 0) {
        const now = tally.serverTime ?? 0n
        batch = [
          ...(await warehouse.nextTasks({ runId, now, limit: TASKS_AT_A_TIME, excluding: excluded() })),
        ]
      }
      return batch.shift() ?? null
    },
  }
}
