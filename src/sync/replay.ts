/** Replays one account: decodes every quarantined row again. Sends no request. */
import { type Span, startSpan } from '../base/clock.js'
import { instantFromMs } from '../model/instant.js'
import type { DecodeAgain } from '../model/replay.js'
import { REPLAY_RESULTS, type ReplayResult, type RunReport } from '../model/run.js'
import { type OutcomeRules, replayOutcomeOf } from './outcome.js'
import type { RunDependencies } from './run-state.js'
import { addRows, createRunState, type RunState } from './run-state.js'

export interface ReplayDependencies
  extends Pick<RunDependencies, 'warehouse' | 'clock' | 'signal' | 'runId' | 'version'> {
  readonly decodeAgain: DecodeAgain
  readonly rules: OutcomeRules
}

/** Throws errors that concern all accounts. The next run then marks this one as killed; the rows are still in quarantine. */
export const replayAccount = async (dependencies: ReplayDependencies): Promise<RunReport> => {
  const { warehouse, decodeAgain, clock, signal, runId, version } = dependencies
  const span = startSpan(clock)
  const startedAt = instantFromMs(span.startedMs)
  await warehouse.startRun({ runId, command: 'replay', version, startedAt })
  const state = createRunState()
  const replayed: Record<ReplayResult, number> = { merged: 0, queued: 0, outdated: 0 }
  for await (const rows of warehouse.quarantined()) {
    // Each batch is one transaction, so the signal is checked between batches.
    if (signal.aborted) {
      state.stopped = 'stopped by a signal: the other rows stay in quarantine'
      break
    }
    const typed = rows.flatMap((row) => {
      const again = decodeAgain(row)
      return again === null ? [] : [{ ...row, ...again }]
    })
    if (typed.length === 0) continue
    const batch = await warehouse.commitReplay(typed, { runId, at: instantFromMs(clock.nowMs()) })
    addRows(state, { surveys: batch.rows })
    for (const result of REPLAY_RESULTS) replayed[result] += batch[result]
  }
  return await finish(dependencies, { span, state, replayed })
}

const finish = async (
  { warehouse, rules, runId }: ReplayDependencies,
  done: {
    readonly span: Span
    readonly state: RunState
    readonly replayed: Readonly<Record<ReplayResult, number>>
  },
): Promise<RunReport> => {
  const { span, state, replayed } = done
  const { cursor } = await warehouse.position()
  const dataProblems = await warehouse.dataProblems(runId)
  const { waiting, rejections } = await warehouse.waitingRows()
  const report: RunReport = {
    runId,
    account: warehouse.account,
    command: 'replay',
    ...replayOutcomeOf({ stopped: state.stopped, ...dataProblems, waiting }, rules),
    startedAt: instantFromMs(span.startedMs),
    endedAt: instantFromMs(span.endMs()),
    listing: null,
    cursorBefore: cursor,
    cursorAfter: cursor,
    requests: 0,
    retries: 0,
    refusals: 0,
    paceIntervalMs: null,
    ...state.counts,
    leftOver: await warehouse.countTasks(),
    ...(await warehouse.failingSurveys()),
    ...dataProblems,
    rejections,
    requestsEstimated: null,
    requestUsage: [],
    rowsByTable: state.rows,
    replayed: { ...replayed, waiting },
  }
  await warehouse.finishRun(report)
  return report
}
