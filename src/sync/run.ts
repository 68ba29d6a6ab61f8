/** The whole run of one account: discovers changes, queues due surveys, refreshes them, and reports the outcome. */
import { startSpan } from '../base/clock.js'
import { EXIT_CODES, ExpectedError, isStop, messageOf, UpstreamError } from '../base/errors.js'
import { explained } from '../base/explained.js'
import { formatInstant, instantFromMs } from '../model/instant.js'
import type { RunReport } from '../model/run.js'
import { compactBefore } from '../rules/history.js'
import { serverNow } from '../rules/plan.js'
import { RunBudget } from './budget.js'
import { discover } from './discover.js'
import { finishRun, outcomeOf } from './outcome.js'
import { planOf, queueDue } from './planning.js'
import { reconstruct } from './reconstruct.js'
import { createRunState, type Run, type RunDependencies, type RunState } from './run-state.js'
import { refresh } from './worker.js'

/**
 * Throws errors that concern all accounts: a warehouse that cannot be written (7), or a bug (1). If possible, the failed run is
 * recorded first.
 */
export const runAccount = async (dependencies: RunDependencies): Promise<RunReport> => {
  const { warehouse, clock, runId, version, only, rules } = dependencies
  const command = only === undefined ? 'sync' : 'sync --surveys'
  const span = startSpan(clock)
  const before = await warehouse.position()
  const plan = only === undefined ? await planOf(warehouse, rules, clock.nowMs()) : null
  const requestsEstimated = plan?.requests ?? null
  await warehouse.startRun({ runId, command, version, startedAt: instantFromMs(span.startedMs) })
  const budget = new RunBudget(rules.budget, clock, dependencies.requests)
  using deadline = budget.deadline(dependencies.signal, () => dependencies.source.usage().rate)
  const state = createRunState()
  const run: Run = { ...dependencies, signal: deadline.signal, budget, state }
  const finish = () =>
    finishRun(dependencies, { command, span, state }, (facts) => {
      const { requests, retries, rateLimited, paceIntervalMs } = dependencies.source.usage()
      const outcome = outcomeOf({ ...state, ...state.counts, ...facts }, rules)
      return {
        ...outcome,
        cursorBefore: before.cursor,
        requestsEstimated,
        requests,
        retries,
        rateLimited,
        paceIntervalMs,
      }
    })
  try {
    if (only === undefined) state.discovery = await discover(run, before)
    // The run lists nothing, so the server's time follows from our clock and the last listing, until an answer shows a later time.
    else state.serverTime = serverNow(await warehouse.pastRuns(rules.discover.overlap), clock.nowMs())
    if (state.discovery === 'interrupted') state.stopped = budget.reason()
    const tasks = await queueDue(run)
    // Before the long part, because a small budget would otherwise prevent compaction in every run.
    if (only === undefined) await compactHistory(run)
    await refresh(run, tasks)
    if (only === undefined) await reconstruct(run, dependencies.signal)
  } catch (error) {
    if (isStop(error)) {
      state.stopped = error.message
      // Null until the listing has ended, which the stop prevented.
      if (only === undefined) state.discovery ??= 'interrupted'
    } else state.ended = failureOf(error)
    if (isStop(error) || error instanceof UpstreamError) return await finish()
    await finish().catch((second: unknown) => {
      dependencies.log.debug({ err: second }, 'the end of the run could not be recorded either')
    })
    throw error
  }
  return await finish()
}

const failureOf = (thrown: unknown): RunState['ended'] => {
  const error = explained(thrown)
  return error instanceof ExpectedError
    ? { exitCode: error.exitCode, code: error.code, message: error.message }
    : { exitCode: EXIT_CODES.bug, code: 'bug', message: `a bug: ${messageOf(error)}` }
}

const compactHistory = async ({ warehouse, rules, runId, clock, log, state }: Run): Promise<void> => {
  const { serverTime } = state
  if (serverTime === null) return
  const before = compactBefore(serverTime, clock.nowMs(), rules.history)
  if (before === null) return
  const rows = await warehouse.compactProgress(before, { runId, at: serverTime })
  state.counts.historyRowsCompacted += rows
  if (rows > 0)
    log.info(
      { account: warehouse.account, rows, before: formatInstant(before) },
      'compacted old progress history: the last observation of each day stays',
    )
}
