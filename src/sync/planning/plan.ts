/** Plans a run from stored data, before it sends a request. */
import { changesSeenSince, expectedAt, type Plan, type PlanRules, planRun } from '../../model/plan.js'
import type { AccountWarehouse } from '../../model/warehouse.js'

/** Null before the first complete listing. `nowMs` is our clock. */
export const planOf = async (
  warehouse: Pick<AccountWarehouse, 'plannedSurveys' | 'pastRuns'>,
  rules: PlanRules,
  nowMs: number,
): Promise<Plan | null> => {
  const past = await warehouse.pastRuns(rules.discover.overlapMs)
  if (past.listedAt === null) return null
  const at = expectedAt(past, nowMs)
  const changedSince = changesSeenSince(past.listedAt)
  const planned = await warehouse.plannedSurveys({ rules: rules.refresh, at, changedSince })
  return planRun(planned, past, { at, nowMs }, rules)
}
