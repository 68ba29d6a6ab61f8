/**
 * Reads what is stored of the surveys in the queue, many at a time: a statement for many surveys takes hardly longer than one for a
 * single survey. Nothing else writes these rows between this reading and the survey's commit, and a survey is committed once.
 */

import type { AccountWarehouse, StoredBundle } from '../../model/warehouse.js'
import type { Task } from '../../rules/queue.js'

/** Surveys, and rows of their sources, that are read ahead. They bound the memory. */
const SURVEYS_MAX = 256
const ROWS_MAX = 2_000

export interface StoredAhead {
  of(task: Task): Promise<StoredBundle>
}

/** `tasks` are in the order in which they are taken. */
export const readStoredAhead = (
  warehouse: Pick<AccountWarehouse, 'storedBundles'>,
  tasks: readonly Task[],
): StoredAhead => {
  const ahead = new Map<number, Promise<ReadonlyMap<number, StoredBundle>>>()
  const placeOf = new Map(tasks.map(({ surveyId }, place) => [surveyId, place]))

  const readFrom = (surveyId: number) => {
    const ids = idsOf(tasks, placeOf.get(surveyId) ?? 0)
    const read = warehouse.storedBundles(ids)
    for (const id of ids) ahead.set(id, read)
    return read
  }

  return {
    of: async ({ surveyId }) => {
      const read = ahead.get(surveyId) ?? readFrom(surveyId)
      ahead.delete(surveyId)
      const stored = (await read).get(surveyId)
      if (stored === undefined) throw new TypeError(`survey ${surveyId} is not in the queue`)
      return stored
    },
  }
}

/** The surveys from this place on, as many as are read at once. */
const idsOf = (tasks: readonly Task[], from: number): readonly number[] => {
  const ids: number[] = []
  let rows = 0
  for (const { surveyId, reserve } of tasks.slice(from, from + SURVEYS_MAX)) {
    rows += reserve
    if (ids.length > 0 && rows > ROWS_MAX) break
    ids.push(surveyId)
  }
  return ids
}
