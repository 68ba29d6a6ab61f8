/** What must hold after nights of a kind: surveys refused, a month without a fault, the published file held by somebody. */
import type { Plan, Start } from '../plan.js'
import type { EndOf } from './end.js'
import type { Broken, Open } from './row-text.js'

export interface NightOf extends EndOf {
  readonly plan: Plan
  readonly start: Start
}

export const checkNight = async (given: NightOf, reader: Open): Promise<Broken[]> => [
  ...(await stale(given, reader)),
  ...costly(given),
  ...replaced(given),
]

/** P1: after a month everything is read again, whatever a wrong clock has left behind. */
const stale = async (
  { plan, world, account, start, ended: { exitCode, report }, toldBefore }: NightOf,
  reader: Open,
): Promise<Broken[]> => {
  if (!start.isOrdinary || exitCode !== 0) return []
  const found: Broken[] = []
  if (isFullListingDue(plan, start) && report?.accounts[0]?.listing !== 'full')
    found.push('P1: after a month the listing is not a full one')
  const since = Math.min(...world.told.slice(toldBefore).map(({ dateMs }) => dateMs))
  const rows = await reader.query(`SELECT s.id FROM main.surveys s
    JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
    WHERE s.account = '${account}' AND s._missing_since IS NULL AND s.status NOT IN ('draft', 'user_demo')
      AND (epoch_ms(f.refreshed_at) < ${since} OR epoch_ms(f.refreshed_at) > ${await world.nowMs()})`)
  for (const { id } of rows) found.push(`P1: after a month survey ${id} is not read again`)
  return found
}

/**
 * Nothing tells a time that our clock ran ahead to, and that has come since, from a right one: the interval counts from
 * there. One that still lies ahead is not believed.
 */
const isFullListingDue = ({ starts, settings }: Plan, start: Start): boolean => {
  const before = starts[starts.indexOf(start) - 1]?.clockAhead
  const passedMs = start.gapMs - (before?.whose === 'ours' ? before.byMs : 0)
  return passedMs < 0 || passedMs >= settings.fullListingEveryMs
}

/** One survey that is refused costs nothing but itself, where the settings do not say that one is too many. */
const costly = ({
  plan,
  start: { refuse, faults, latencyMsMax },
  ended: { exitCode, report },
}: NightOf): Broken[] => {
  const run = report?.accounts[0]
  // There and back; then a listing may not be answered in time, which ends a run for itself.
  if (2 * latencyMsMax >= plan.settings.requestTimeoutMs) return []
  if (refuse?.of !== 'one' || run === undefined || plan.settings.consecutiveFailuresMax === 1) return []
  return Object.keys(faults).length === 0 && exitCode === 4 && run.surveysFailed <= 1
    ? [`P4: one survey was refused, and that ended the run: ${run.reason}`]
    : []
}

/** P1: what is held may be the newest state. While it cannot be read, no older one takes its place. */
const replaced = ({ start: { isHeld }, ended: { exitCode } }: NightOf): Broken[] =>
  isHeld && exitCode !== 7
    ? [`P1: the work database was rebuilt while the published file was held: exit ${exitCode}, not 7`]
    : []
