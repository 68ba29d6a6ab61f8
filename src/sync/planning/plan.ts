/** Plans a run from stored data, before it sends a request. */
import { expectedAt, type Plan, type PlanRules, planRun } from '../../model/plan.js'
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
  return planRun(await warehouse.plannedSurveys(rules.refresh.dailyWindows), past, { at, nowMs }, rules)
}
