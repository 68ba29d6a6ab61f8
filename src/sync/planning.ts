/** Plans a run from stored data, and queues the surveys that are due but not in the listing: new interviews do not change `updated_at`. */
import { counted, humanCount } from '../base/human.js'
import type { Instant } from '../model/instant.js'
import type { PlannedSurvey } from '../model/plan-facts.js'
import type { TaskReason } from '../model/run.js'
import type { AccountWarehouse } from '../model/warehouse.js'
import { believed } from '../rules/believed.js'
import { createPlan, expectedAt, type Plan, type PlanRules } from '../rules/plan.js'
import { createQueue, type Task } from '../rules/queue.js'
import type { Run } from './run-state.js'

/** Null before the first complete listing. `nowMs` is our clock. */
export const planOf = async (
  warehouse: Pick<AccountWarehouse, 'surveyTotals' | 'eachPlannedSurvey' | 'pastRuns' | 'firstReadings'>,
  rules: PlanRules,
  nowMs: number,
): Promise<Plan | null> => {
  const past = await warehouse.pastRuns(rules.discover.overlap)
  if (past.listedAt === null) return null
  const at = expectedAt(past, nowMs)
  const firstReadings = await warehouse.firstReadings(at)
  const plan = createPlan(await warehouse.surveyTotals(), past, { at, nowMs }, rules, firstReadings)
  const { refresh, exclude } = rules
  await warehouse.eachPlannedSurvey({ rules: refresh, exclude }, plan.add)
  return plan.plan()
}

/**
 * The whole queue of the run, the most urgent task first. Without a server time, only tasks that are already queued. If the run is about
 * some surveys, exactly these.
 */
export const queueDue = async (run: Run): Promise<readonly Task[]> => {
  const { warehouse, rules, runId, log, state, only } = run
  const { account } = warehouse
  const now = state.serverTime
  const isRequested = only !== undefined
  const inVain = isRequested ? [] : await warehouse.storeExclusions(rules.exclude)
  if (inVain.length > 0 && now !== null)
    log.warn(
      { account, names: inVain },
      'accounts[].exclude names what the API does not show: correct or remove it',
    )
  const listsAllSince = state.listing === 'full' ? state.begunAt : null
  const queueRules = { ...rules, isRequested, listsAllSince, begunAt: state.begunAt }
  const queue = createQueue(await warehouse.surveyTotals(), now ?? 0n, queueRules, runId)
  let datedAhead = 0
  const selection = { rules: rules.refresh, onlyQueued: now === null, only }
  await warehouse.eachPlannedSurvey(selection, (survey) => {
    queue.add(survey)
    if (survey.task === null && now !== null && isDatedAhead(survey, now)) datedAhead += 1
  })
  const { tasks, paused, excluded, notDue } = queue.sorted()
  if (now === null) return tasks
  const due = tasks.filter(({ isQueued }) => !isQueued)
  await warehouse.enqueue(due, { runId, at: now })
  if (datedAhead > 0)
    log.warn(
      { account, surveys: datedAhead },
      "surveys have a reading time ahead of the server's clock and are read again",
    )
  if (paused > 0)
    log.info(
      { account, surveys: paused },
      'surveys that the API refused, or that no run could read to their end, are not requested in this run',
    )
  if (!isRequested) state.requestUsage.saved('not_due', notDue)
  state.requestUsage.saved('excluded', excluded.requests)
  if (excluded.surveys > 0)
    log.info({ account, surveys: excluded.surveys }, 'surveys that are due are excluded by the settings')
  log.info({ account }, readingText(tasks))
  return tasks
}

const isDatedAhead = ({ refreshedAt }: PlannedSurvey, now: Instant): boolean =>
  refreshedAt !== null && believed(refreshedAt, now) === null

/** `reading 7 surveys: 5 active, 2 changed`. */
const readingText = (tasks: readonly Task[]): string => {
  const counts = new Map<TaskReason, number>()
  for (const { reason } of tasks) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  const parts = [...counts].map(([reason, count]) => `${humanCount(count)} ${reason}`)
  return parts.length === 0
    ? 'no survey is due'
    : `reading ${counted(tasks.length, 'survey')}: ${parts.join(', ')}`
}
