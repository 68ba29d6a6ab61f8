/**
 * Reads the progress of surveys as of days before they were first read, so that a new warehouse has a pace at once. This is optional: it
 * comes after everything else, and takes only requests that the budget of the run has left
 * (docs/decisions/queue-and-refresh.md#0084-the-days-before-the-first-reading-are-reconstructed).
 */
import { isStop } from '../base/errors.js'
import type { Window } from '../model/calendar.js'
import type { Answer } from '../model/survey-source.js'
import type { ReconstructedSurvey } from '../model/warehouse.js'
import { windowsBefore } from '../rules/windows.js'
import type { BundleAllowance } from './budget.js'
import { EndpointWatch } from './failure-watch.js'
import { Readings } from './readings.js'
import { addRows, type Run, sawServerTime } from './run-state.js'

/** Surveys that are read at the same time, and committed together. A killed run loses these requests. */
const READ_AT_ONCE = 8

interface Past extends ReconstructedSurvey {
  /** The error that ends the reading; null without one. */
  readonly ended: { readonly error: unknown } | null
}

/**
 * Throws errors that end the run. A budget ends only the reconstruction, not the run. `signal` is the signal of the run without its time
 * limit.
 */
export const reconstruct = async (run: Run, signal: AbortSignal): Promise<void> => {
  const { warehouse, rules, runId, budget, log, state } = run
  const now = state.serverTime
  if (!rules.refresh.reconstruct || now === null || state.stopped !== null) return
  const due = (await warehouse.firstReadings(now)).flatMap(({ surveyId, ...survey }) => {
    const windows = windowsBefore(survey, now)
    return windows.length === 0 ? [] : [{ surveyId, windows }]
  })
  if (due.length === 0) return
  const { account } = warehouse
  log.info({ account, surveys: due.length }, 'reading days before the first reading')
  const watch = new EndpointWatch()
  for (let from = 0; from < due.length && !watch.isFailing(KIND); from += READ_AT_ONCE) {
    const readings = due.slice(from, from + READ_AT_ONCE).flatMap(({ surveyId, windows }) => {
      const some = windows.slice(0, budget.left())
      const allowance = some.length === 0 ? null : budget.admitLeft(some.length)
      return allowance === null ? [] : [readPast(run, surveyId, some, allowance, watch)]
    })
    if (readings.length === 0) return
    const read = await Promise.all(readings)
    addRows(state, await warehouse.commitReconstructed(read, runId))
    const [ended] = read.flatMap((result) => result.ended ?? [])
    if (ended === undefined) continue
    if (isStop(ended.error) && !signal.aborted) return
    throw ended.error
  }
}

const KIND = 'daily_progress'

/** Reads windows one after the other, up to the first that cannot be read, where the next run continues. Never rejects. */
const readPast = async (
  run: Run,
  surveyId: number,
  windows: readonly Window[],
  allowance: BundleAllowance,
  watch: EndpointWatch,
): Promise<Past> => {
  const { source, signal, log, state } = run
  const readings = new Readings({ task: { surveyId, reason: 'active', refusals: 0, isUnseen: false }, watch })
  const context = { signal, allowance: state.requestUsage.counting(allowance, KIND, 'reconstructed') }
  const answers: Answer[] = []
  const rows: ReconstructedSurvey['rows'][number][] = []
  let ended: Past['ended'] = null
  try {
    for (const window of windows) {
      const query = { surveyId, sampleSourceId: null, window }
      const reading = await readings.passOver(KIND, source.readProgress(query, context))
      if (reading !== null) answers.push(reading)
      if (reading === null || reading.row === null) break
      rows.push({ window, progress: reading.row, at: reading.readAt })
    }
  } catch (error) {
    ended = { error }
  } finally {
    allowance.release()
  }
  const problem = readings.isComplete() ? null : readings.unread().error
  if (problem !== null)
    log.warn(
      { surveyId, problem },
      'what was before the first reading could not be read; the next run tries again',
    )
  const at = answers.at(-1)?.readAt ?? state.serverTime ?? 0n
  sawServerTime(state, at)
  return {
    ...{ surveyId, at, rows, ended },
    rejections: answers.flatMap(({ rejections }) => rejections),
    drift: answers.flatMap(({ drift }) => drift),
  }
}
