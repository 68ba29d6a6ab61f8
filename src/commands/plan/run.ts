/** The wiring of `plan`: reads what was published, so that a sync at work is in nobody's way. Makes no request. */
import { systemClock } from '../../base/clock.js'
import type { Plan } from '../../model/plan.js'
import { type AccountPlan, fitPlan } from '../../model/plan-fit.js'
import type { Budget } from '../../model/run.js'
import { findPublished } from '../../publish/formats.js'
import type { AccountSettings, Settings } from '../../settings/settings.js'
import { expectedShares } from '../../sync/budget/request-shares.js'
import { planOf } from '../../sync/planning/plan.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import { readPublished } from '../../warehouse/status.js'

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
  return await readPublished(found, async (database) => {
    const planned: { readonly account: AccountSettings; readonly plan: Plan | null }[] = []
    for (const account of accounts) {
      const warehouse = accountWarehouse(database, account.name)
      planned.push({ account, plan: await planOf(warehouse, rules, systemClock.nowMs()) })
    }
    return fitted(planned, rules.budget)
  })
}

/** What fits of each: of the requests of a budget every account has its share. */
const fitted = (
  planned: readonly { readonly account: AccountSettings; readonly plan: Plan | null }[],
  budget: Budget,
): readonly AccountPlan[] => {
  const wants = planned.map(({ account, plan }) => ({
    weight: account.share,
    wanted: plan?.requests ?? Number.POSITIVE_INFINITY,
  }))
  const shares = budget.requestsMax === null ? null : expectedShares(budget.requestsMax, wants)
  return planned.map(({ account: { name, rate }, plan }, place) => ({
    account: name,
    rate,
    plan,
    fit: plan === null ? null : fitPlan(plan, { ...budget, requestsMax: shares?.[place] ?? null }, rate),
  }))
}
