/** Plans a run from stored data, before it sends a request. */
import { changesSeenSince, createPlan, expectedAt, type Plan, type PlanRules } from '../../model/plan.js'
import type { AccountWarehouse } from '../../model/warehouse.js'

/** Null before the first complete listing. `nowMs` is our clock. */
export const planOf = async (
  warehouse: Pick<AccountWarehouse, 'surveyTotals' | 'eachPlannedSurvey' | 'pastRuns'>,
  rules: PlanRules,
  nowMs: number,
): Promise<Plan | null> => {
  const past = await warehouse.pastRuns(rules.discover.overlapMs)
  if (past.listedAt === null) return null
  const at = expectedAt(past, nowMs)
  const changedSince = changesSeenSince(past.listedAt)
  const plan = createPlan(await warehouse.surveyTotals(), past, { at, nowMs }, rules)
  await warehouse.eachPlannedSurvey({ rules: rules.refresh, at, changedSince }, plan.add)
  return plan.plan()
}
