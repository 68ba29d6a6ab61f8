/** Replays one account: decodes every quarantined row again. Sends no request. */
import { startSpan } from '../base/clock.js'
import { instantFromMs } from '../model/instant.js'
import { REPLAY_RESULTS, type ReplayResult, type RunReport } from '../model/run.js'
import type { DecodeAgain } from '../model/warehouse.js'
import { finishRun, type OutcomeRules, replayOutcomeOf } from './outcome.js'
import { addRows, createRunState, type RunDependencies } from './run-state.js'

interface ReplayDependencies
  extends Pick<RunDependencies, 'warehouse' | 'clock' | 'signal' | 'runId' | 'version'> {
  readonly decodeAgain: DecodeAgain
  readonly rules: OutcomeRules
}

/**
 * Throws errors that concern all accounts. After such an error, the next run marks this one as killed, and the rows are still in
 * quarantine.
 */
export const replayAccount = async (dependencies: ReplayDependencies): Promise<RunReport> => {
  const { warehouse, decodeAgain, clock, signal, rules, runId, version } = dependencies
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
  const { waiting, rejections } = await warehouse.waitingRows()
  return await finishRun(dependencies, { command: 'replay', span, state }, (facts) => ({
    ...replayOutcomeOf({ ...facts, stopped: state.stopped, waiting }, rules),
    rejections,
    replayed: { ...replayed, waiting },
  }))
}
