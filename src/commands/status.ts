/** What `status` prints: a verdict and the published state. */
import { systemClock } from '../base/clock.js'
import { parseDuration } from '../settings/readers.js'
import type { Settings } from '../settings/settings.js'
import { findState, readWithHead } from '../storage/open.js'
import { readStatus } from '../warehouse/status.js'
import type { CliContext } from './context.js'
import { usageError } from './flags.js'
import { renderOverview } from './status/overview.js'
import { VERDICT_COLOURS, verdictOf } from './status/verdict.js'
import { jsonOf } from './text/json.js'
import { painted, terminalOf, wrapped } from './text/text-table.js'

interface StatusFlags {
  /** Print only the verdict, and exit with its code. */
  readonly check?: boolean | undefined
  readonly 'max-age'?: string | undefined
  /** `4711` or `acme/4711`: explain only this survey. */
  readonly survey?: string | undefined
}

/** A night, and two hours for a run that takes longer than the one before. */
const MAX_AGE = '26h'

export const showStatus = async (
  context: CliContext,
  settings: Settings,
  { check = false, 'max-age': maxAge = MAX_AGE, survey }: StatusFlags,
): Promise<void> => {
  const { signal, print, exit } = context
  const maxAgeMs = parseDuration(maxAge)
  if (maxAgeMs === null) throw usageError('--max-age must be a duration, such as 26h', 'status')
  if (survey !== undefined)
    return await (await import('./status/survey.js')).showSurvey(context, settings, survey, maxAgeMs)
  const state = await findState(settings, signal)
  const nowMs = systemClock.nowMs()
  const basis = { accountNames: settings.accountNames, runs: state.runs, nowMs, maxAgeMs }
  // A first run that failed has published nothing, but left its reason.
  const hasFailed = state.published === null && state.runs.last !== null
  if (hasFailed && check && !settings.json) {
    const { exitCode, text, next } = verdictOf([], basis)
    exit(exitCode, { reason: text, next })
    return void (await print(`${text}\n`))
  }
  const { head, result } = await readWithHead(settings, state, signal, (database) =>
    database.transaction(readStatus),
  )
  const { syncs, ...shown } = result
  const verdict = verdictOf(syncs, basis)
  if (check) exit(verdict.exitCode, { reason: verdict.text, next: verdict.next })
  if (settings.json) return void (await print(`${jsonOf({ verdict, ...head, ...shown })}\n`))
  const { width, colour } = terminalOf(context)
  const { state: kind, text } = verdict
  const line = check ? text : wrapped(text, width)
  const first = colour ? painted(line, VERDICT_COLOURS[kind]) : line
  if (check) return void (await print(`${first}\n`))
  const overlapMs = settings.discover.overlap
  await print(`${first}\n\n${renderOverview(head, shown, { nowMs, overlapMs, width, said: text })}\n`)
}
