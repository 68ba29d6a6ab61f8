/** The output of `plan` for people. */
import { counted, humanCount, humanDuration, humanWindow } from '../../base/human.js'
import { requestsIn, sum } from '../../model/bundle-estimate.js'
import { timeAtCapMs } from '../../model/cap-time.js'
import { formatInstant } from '../../model/instant.js'
import type { Plan, PlanEntry } from '../../model/plan.js'
import type { AccountPlan } from '../../model/plan-fit.js'
import { REQUEST_KINDS } from '../../model/request-usage.js'
import type { Budget } from '../../model/run.js'
import { REQUEST_USAGE_WORDS } from '../text/request-usage-words.js'
import { textTable } from '../text/text-table.js'

export const renderPlans = (plans: readonly AccountPlan[], budget: Budget): string =>
  plans.map((one) => renderPlan(one, budget)).join('\n\n')

const renderPlan = (one: AccountPlan, budget: Budget): string => {
  const { account, plan } = one
  if (plan === null)
    return `${account}: no survey is listed yet. The first run lists all surveys and reads each of them, the newest first. If a budget ends it, the next run continues`
  return [
    `${account}: the next run, expected at ${formatInstant(plan.at)} by the server's clock`,
    textTable(tableOf(plan), '  '),
    ...closing(one, plan, budget),
  ].join('\n')
}

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

const labelOf = ({ reason, isExpected }: PlanEntry, { listing }: Plan): string => {
  if (reason === 'listing') return `listing, ${listing}`
  return isExpected ? `${REQUEST_USAGE_WORDS[reason]}, expected` : REQUEST_USAGE_WORDS[reason]
}

const closing = (
  { rate, fit }: AccountPlan,
  plan: Plan,
  { requestsMax, durationMsMax }: Budget,
): readonly string[] => {
  const cap = `${rate.requests} per ${humanWindow(rate.perMs)}`
  const time = `  ${humanDuration(timeAtCapMs(plan.requests, rate))} at the cap of ${cap}`
  if (fit === null || (requestsMax === null && durationMsMax === null)) return [time]
  const limits = [
    ...(requestsMax === null ? [] : [`--max-requests ${requestsMax}`]),
    ...(durationMsMax === null ? [] : [`--max-duration ${humanDuration(durationMsMax)}`]),
  ].join(' and ')
  if (fit.waiting === 0) return [time, `  all requests fit into ${limits}`]
  const since = fit.oldestSince === null ? '' : `, the oldest since ${formatInstant(fit.oldestSince)}`
  const expected = sum(plan.entries.map(({ isExpected, surveys }) => (isExpected ? surveys : 0)))
  const first =
    expected === 0 ? 'the listing' : `the listing, ${counted(expected, 'survey')} expected from it`
  return [
    time,
    `  ${counted(fit.requests, 'request')} fit into ${limits}: ${first}, and ${fit.surveys} of the ${counted(plan.tasks.length, 'survey')} that are known to be due`,
    `  ${counted(fit.waiting, 'survey')} ${fit.waiting === 1 ? 'waits' : 'wait'} for the run after it${since}`,
  ]
}
