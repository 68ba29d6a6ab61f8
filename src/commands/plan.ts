/** What `plan` does: reads the published state, so it works while a sync runs, and prints what the next run would request. */
import { sum } from 'd3-array'
import { systemClock } from '../base/clock.js'
import { counted, humanCount, humanDuration, humanWindow } from '../base/human.js'
import { formatInstant } from '../model/instant.js'
import { REQUEST_KINDS } from '../model/request-usage.js'
import type { Budget } from '../model/run.js'
import { requestsIn } from '../rules/estimate.js'
import { type AccountPlan, fitPlan, type Plan, type PlanEntry, timeAtCapMs } from '../rules/plan.js'
import type { AccountSettings, Settings } from '../settings/settings.js'
import { findState } from '../storage/open.js'
import { planOf } from '../sync/planning.js'
import { accountWarehouse } from '../warehouse/account-warehouse.js'
import { readPublished, requireCurrentSchema } from '../warehouse/status.js'
import type { CliContext } from './context.js'
import { jsonOf } from './text/json.js'
import { REQUEST_USAGE_WORDS } from './text/run-lines.js'
import { textTable } from './text/text-table.js'

export const plan = async ({ signal, print, tell }: CliContext, settings: Settings): Promise<void> => {
  const { json, budget } = settings
  const plans = await planAll(settings, signal)
  if (json) await print(`${jsonOf(planToJson(plans, budget))}\n`)
  else await tell(`${renderPlans(plans, budget)}\n`)
}

/** Throws `WarehouseUnusableError` if the published state cannot be read. */
const planAll = async (
  { accounts, warehouseDirectory, publish, storage, ...rules }: Settings,
  signal: AbortSignal,
): Promise<readonly AccountPlan[]> => {
  const { published } = await findState({ warehouseDirectory, publish, storage }, signal)
  if (published === null) return fitted(accounts, [], rules.budget)
  return await readPublished(published, signal, async (database) => {
    await requireCurrentSchema(database, published.path, 'plan')
    const plans: (Plan | null)[] = []
    for (const { name, exclude } of accounts)
      plans.push(await planOf(accountWarehouse(database, name), { ...rules, exclude }, systemClock.nowMs()))
    return fitted(accounts, plans, rules.budget)
  })
}

/** The part of each account's plan that fits into the budget. */
const fitted = (
  accounts: readonly AccountSettings[],
  plans: readonly (Plan | null)[],
  budget: Budget,
): readonly AccountPlan[] => {
  const needs = accounts.map((_, index) => plans[index]?.requests ?? Number.POSITIVE_INFINITY)
  const { requests_max: total } = budget
  const parts = total === null ? [] : expectedParts(total, needs)
  return accounts.map(({ name: account, rate }, index) => {
    const plan = plans[index] ?? null
    const requestsMax = total === null ? null : (parts[index] ?? 0)
    const fit = plan && fitPlan(plan, { ...budget, requests_max: requestsMax }, rate)
    return { account, rate, plan, fit }
  })
}

/** The requests that each account gets, if all take them equally fast until they have what they need. */
export const expectedParts = (total: number, needs: readonly number[]): readonly number[] => {
  const parts = new Map<number, number>()
  let left = total
  for (const [index, needed] of [...needs.entries()].toSorted(([, one], [, other]) => one - other)) {
    const part = Math.min(needed, Math.floor(left / (needs.length - parts.size)))
    parts.set(index, part)
    left -= part
  }
  return needs.map((_, index) => parts.get(index) ?? 0)
}

export const renderPlans = (plans: readonly AccountPlan[], budget: Budget): string =>
  plans
    .map(({ account, plan, ...one }) =>
      plan === null
        ? `${account}: no survey is listed yet. The first run lists all surveys and reads each of them, the newest first. If a budget ends it, the next run continues`
        : [
            `${account}: the next run, expected at ${formatInstant(plan.at)} by the server's clock`,
            textTable(tableOf(plan), { indent: '  ' }),
            ...closing(one, plan, budget),
            `  ${ON_TOP}`,
          ].join('\n'),
    )
    .join('\n\n')

const ON_TOP = 'the surveys that the listing brings come on top'

const tableOf = (plan: Plan): readonly (readonly string[])[] => {
  const kinds = REQUEST_KINDS.filter((kind) => plan.entries.some(({ requests }) => (requests[kind] ?? 0) > 0))
  const cell = (count: number) => (count === 0 ? '-' : humanCount(count))
  const total = (kind: (typeof kinds)[number]) => sum(plan.entries.map(({ requests }) => requests[kind] ?? 0))
  return [
    ['why', 'surveys', 'requests', ...kinds.map((kind) => REQUEST_USAGE_WORDS[kind])],
    ...plan.entries.map((entry) => [
      labelOf(entry, plan),
      cell(entry.surveys),
      cell(requestsIn(entry.requests)),
      ...kinds.map((kind) => cell(entry.requests[kind] ?? 0)),
    ]),
    ['in all', '', cell(plan.requests), ...kinds.map((kind) => cell(total(kind)))],
  ]
}

const labelOf = ({ reason }: PlanEntry, { listing }: Plan): string =>
  reason === 'listing' ? `listing, ${listing}` : REQUEST_USAGE_WORDS[reason]

const closing = (
  { rate, fit }: Pick<AccountPlan, 'rate' | 'fit'>,
  plan: Plan,
  { requests_max: requestsMax, duration_max: durationMsMax }: Budget,
): readonly string[] => {
  const { surveys: out, requests: saved } = plan.excluded
  const taking = counted(requestsIn(saved), 'request')
  const excluded = out === 0 ? '' : `\n  excluded: ${counted(out, 'survey')}, which would take ${taking}`
  const time = `  ${humanDuration(timeAtCapMs(plan.requests, rate))} at the cap of ${rate.requests} per ${humanWindow(rate.perMs)}${excluded}`
  if (fit === null || (requestsMax === null && durationMsMax === null)) return [time]
  const limits = [
    ...(requestsMax === null ? [] : [`--max-requests ${requestsMax}`]),
    ...(durationMsMax === null ? [] : [`--max-duration ${humanDuration(durationMsMax)}`]),
  ].join(' and ')
  if (fit.requests === plan.requests) return [time, `  all requests fit into ${limits}`]
  if (fit.waiting === 0)
    return [
      time,
      `  ${counted(fit.requests, 'request')} fit into ${limits}: all but ${humanCount(plan.requests - fit.requests)} of those that reconstruct days, which wait for the runs after it`,
    ]
  const since = fit.oldestSince === null ? '' : `, the oldest since ${formatInstant(fit.oldestSince)}`
  return [
    time,
    `  ${counted(fit.requests, 'request')} fit into ${limits}: the listing, and ${fit.surveys} of the ${counted(plan.tasks.length, 'survey')} that are known to be due`,
    `  ${counted(fit.waiting, 'survey')} ${fit.waiting === 1 ? 'waits' : 'wait'} for the run after it${since}`,
  ]
}

/** The document of `--json`, for `jsonOf`. Durations are in seconds. */
export const planToJson = (
  plans: readonly AccountPlan[],
  { requests_max: maxRequests, duration_max: durationMsMax }: Budget,
) => ({
  maxRequests,
  maxDurationSeconds: durationMsMax === null ? null : durationMsMax / 1_000,
  accounts: plans.map(({ account, rate, plan, fit }) => ({
    account,
    rate: { requests: rate.requests, perSeconds: rate.perMs / 1_000 },
    expectedAt: plan?.at ?? null,
    listing: plan?.listing ?? 'full',
    requests: plan?.requests ?? null,
    secondsAtCap: plan === null ? null : timeAtCapMs(plan.requests, rate) / 1_000,
    entries: plan?.entries ?? [],
    excluded: plan?.excluded ?? null,
    fits: fit,
  })),
})
