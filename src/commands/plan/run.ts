/** The wiring of `plan`: reads the published state, so it works while a sync runs. It makes no request. */
import { systemClock } from '../../base/clock.js'
import type { Plan } from '../../model/plan.js'
import { type AccountPlan, fitPlan } from '../../model/plan-fit.js'
import type { Budget } from '../../model/run.js'
import { SCHEMA_VERSION } from '../../model/sync-tables.js'
import type { AccountSettings, Settings } from '../../settings/settings.js'
import { expectedAllocations } from '../../sync/budget/allocation.js'
import { planOf } from '../../sync/planning/plan.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import type { Database } from '../../warehouse/connection/database.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import { schemaVersion } from '../../warehouse/lifecycle/migrations.js'
import { readPublished } from '../../warehouse/status.js'
import { findState } from '../wiring/published.js'

/** Throws `WarehouseUnusableError` if the published state cannot be read. */
export const planAll = async (
  { accounts, warehouseDirectory, publish, storage, ...rules }: Settings,
  signal: AbortSignal,
): Promise<readonly AccountPlan[]> => {
  const { published: found } = await findState({ warehouseDirectory, publish, storage }, signal)
  if (found === null)
    return accounts.map(({ name, rate }) => ({ account: name, rate, plan: null, fit: null }))
  return await readPublished(found, signal, async (database) => {
    await requireCurrentSchema(database, found.path)
    const planned: { readonly account: AccountSettings; readonly plan: Plan | null }[] = []
    for (const account of accounts) {
      const warehouse = accountWarehouse(database, account.name)
      planned.push({ account, plan: await planOf(warehouse, rules, systemClock.nowMs()) })
    }
    return fitted(planned, rules.budget)
  })
}

/** A plan reads columns that older versions did not publish. */
const requireCurrentSchema = async (database: Database, path: string): Promise<void> => {
  const version = await database.transaction(schemaVersion)
  if (version < SCHEMA_VERSION)
    throw new WarehouseUnusableError(
      `${path} was published by an older fieldwork-sync (schema version ${version}; this one needs ${SCHEMA_VERSION}). Run fieldwork-sync sync once, then fieldwork-sync plan`,
    )
}

/** The part of each account's plan that fits into the budget. A request limit is divided by the weights of the accounts. */
const fitted = (
  planned: readonly { readonly account: AccountSettings; readonly plan: Plan | null }[],
  budget: Budget,
): readonly AccountPlan[] => {
  const needs = planned.map(({ account, plan }) => ({
    weight: account.weight,
    needed: plan?.requests ?? Number.POSITIVE_INFINITY,
  }))
  const allocations = budget.requestsMax === null ? null : expectedAllocations(budget.requestsMax, needs)
  return planned.map(({ account: { name, rate }, plan }, place) => ({
    account: name,
    rate,
    plan,
    fit: plan === null ? null : fitPlan(plan, { ...budget, requestsMax: allocations?.[place] ?? null }, rate),
  }))
}
