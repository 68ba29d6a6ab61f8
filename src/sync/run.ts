/**
 * The whole run of one account: discovers changes, queues due surveys, refreshes them, and reports the outcome. Each step has a
 * file of its own name. Committed rows stay, however the run ends.
 */
import { explained } from '../base/address-space.js'
import { type Span, startSpan } from '../base/clock.js'
import { EXIT_CODES, ExpectedError, isStop, messageOf, UpstreamError } from '../base/errors.js'
import { formatInstant, type Instant, instantFromMs } from '../model/instant.js'
import type { RunReport } from '../model/run.js'
import type { SourceUsage } from '../model/survey-source.js'
import { compactBefore } from '../rules/history.js'
import { RunBudget } from './budget.js'
import { discover } from './discover.js'
import { outcomeOf } from './outcome.js'
import { planOf, queueDue } from './planning.js'
import { refresh } from './refresh.js'
import type { RunDependencies } from './run-state.js'
import { createRunState, type RunState } from './run-state.js'

/**
 * Throws errors that concern all accounts: a warehouse that cannot be written (7), or a bug (1). If possible, the failed run is
 * recorded first.
 */
export const runAccount = async (given: RunDependencies): Promise<RunReport> => {
  const { warehouse, clock, rules, runId, version } = given
  const span = startSpan(clock)
  const start: StartingPoint = {
    span,
    cursor: (await warehouse.position()).cursor,
    requestsEstimated: (await planOf(warehouse, rules, clock.nowMs()))?.requests ?? null,
  }
  await warehouse.startRun({ runId, command: 'sync', version, startedAt: instantFromMs(span.startedMs) })
  const budget = new RunBudget(rules.budget, clock, given.requests)
  using deadline = budget.deadline(given.signal, () => given.source.usage().rate)
  const dependencies = { ...given, signal: deadline.signal }
  const state = createRunState()
  try {
    state.discovery = await discover(dependencies, budget, state)
    if (state.discovery === 'interrupted') state.stopped = budget.reason()
    const tasks = await queueDue(dependencies, state)
    // Before the long part: otherwise a small budget would prevent compaction in every run.
    await compactHistory(dependencies, state)
    await refresh(dependencies, budget, state, tasks)
  } catch (error) {
    if (isStop(error)) state.stopped = error.message
    else state.ended = failureOf(error)
    if (isStop(error) || error instanceof UpstreamError) return await finish(dependencies, start, state)
    await finish(dependencies, start, state).catch((second: unknown) => {
      dependencies.log.debug({ err: second }, 'the end of the run could not be recorded either')
    })
    throw error
  }
  return await finish(dependencies, start, state)
}

interface StartingPoint {
  readonly span: Span
  readonly cursor: Instant | null
  readonly requestsEstimated: number | null
}

const failureOf = (thrown: unknown): RunState['ended'] => {
  const error = explained(thrown)
  return error instanceof ExpectedError
    ? { exitCode: error.exitCode, message: error.message }
    : { exitCode: EXIT_CODES.bug, message: `a bug: ${messageOf(error)}` }
}

const finish = async (
  dependencies: RunDependencies,
  start: StartingPoint,
  state: RunState,
): Promise<RunReport> => {
  const { warehouse, source, rules, runId } = dependencies
  const { cursor } = await warehouse.position()
  const dataProblems = await warehouse.dataProblems(runId)
  const leftOver = await warehouse.countTasks()
  const failing = await warehouse.failingSurveys()
  const report: RunReport = {
    runId,
    account: warehouse.account,
    command: 'sync',
    ...outcomeOf({ ...state, ...state.counts, ...dataProblems, ...failing, leftOver }, rules),
    startedAt: instantFromMs(start.span.startedMs),
    endedAt: instantFromMs(start.span.endMs()),
    listing: state.listing,
    cursorBefore: start.cursor,
    cursorAfter: cursor,
    requestsEstimated: start.requestsEstimated,
    ...usageOf(source.usage()),
    requestUsage: state.requestUsage.entries(),
    ...state.counts,
    leftOver,
    ...failing,
    ...dataProblems,
    rowsByTable: state.rows,
    replayed: null,
  }
  await warehouse.finishRun(report)
  return report
}

const usageOf = ({ requests, retries, refusals, paceIntervalMs }: SourceUsage) => ({
  requests,
  retries,
  refusals,
  paceIntervalMs,
})

// Thins out old progress history if the settings say so, and reports it.

const compactHistory = async (
  { warehouse, rules, runId, clock, log }: RunDependencies,
  state: RunState,
): Promise<void> => {
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
