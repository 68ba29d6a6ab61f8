/** Queues the surveys that are due although the listing does not show them: new interviews do not move a survey. */
import { believed } from '../../model/believed.js'
import { refreshReason, refreshWeight } from '../../model/refresh-rules.js'
import type { TaskReason } from '../../model/run.js'
import type { NewTask } from '../../model/warehouse.js'
import type { RunDependencies } from '../dependencies.js'
import type { Tally } from '../tally.js'

export const queueDue = async (
  { warehouse, rules, runId, log }: RunDependencies,
  tally: Tally,
): Promise<void> => {
  const now = tally.serverTime
  if (now === null) return
  const weightOf = (status: string) => refreshWeight(status, rules.refresh.weights)
  const queued: Partial<Record<TaskReason, number>> = {}
  let datedAhead = 0
  for await (const surveys of warehouse.unqueuedSurveys()) {
    datedAhead += surveys.filter(
      ({ refreshedAt }) => refreshedAt !== null && believed(refreshedAt, now) === null,
    ).length
    const due = surveys.flatMap((survey): readonly NewTask[] => {
      const reason = refreshReason(survey, now, rules.refresh)
      return reason === null ? [] : [{ surveyId: survey.id, reason, priority: weightOf(survey.status) }]
    })
    await warehouse.enqueue(due, { runId, at: now })
    for (const { reason } of due) queued[reason] = (queued[reason] ?? 0) + 1
  }
  if (datedAhead > 0)
    log.warn(
      { account: warehouse.account, surveys: datedAhead },
      "surveys were read at a time that lies ahead of the server's clock: they are read again",
    )
  // What earlier runs and the listing have queued as well: settings may have changed since.
  await warehouse.weighTasks(weightOf)
  tally.spending.saved('resting', await warehouse.restingRequests())
  log.info({ account: warehouse.account, ...queued }, 'queued what is due beside what has changed')
}
