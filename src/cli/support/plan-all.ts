/** The wiring of `plan`: reads what was published, so that a sync at work is in nobody's way. Makes no request. */
import { systemClock } from '../../base/clock.js'
import { type AccountPlan, fitPlan } from '../../model/plan-fit.js'
import type { Settings } from '../../settings/settings.js'
import { planOf } from '../../sync/plan.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import { readPublished } from '../../warehouse/status.js'
import { findPublished } from './warehouse-status.js'

/** Throws `WarehouseUnusableError` when what is published cannot be read. */
export const planAll = async ({
  accounts,
  warehouseDirectory,
  publish,
  ...rules
}: Settings): Promise<readonly AccountPlan[]> => {
  const found = await findPublished(warehouseDirectory, publish)
  if (found === null)
    return accounts.map(({ name, rate }) => ({ account: name, rate, plan: null, fit: null }))
  return await readPublished(
    found.path,
    async (database) => {
      const plans: AccountPlan[] = []
      for (const { name, rate } of accounts) {
        const warehouse = accountWarehouse(database, name, rules.refresh.dailyWindows)
        const plan = await planOf(warehouse, rules, systemClock.nowMs())
        plans.push({
          account: name,
          rate,
          plan,
          fit: plan === null ? null : fitPlan(plan, rules.budget, rate),
        })
      }
      return plans
    },
    found.open,
  )
}
