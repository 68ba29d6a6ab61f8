/** Thins out old progress history if the settings say so, and reports it. */
import { compactBefore } from '../model/history-rules.js'
import { formatInstant } from '../model/instant.js'
import type { RunDependencies } from './dependencies.js'
import type { RunState } from './run-state.js'

export const compactHistory = async (
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
