/** What must hold after nights of a kind: surveys refused, a month without a fault, the published file held by somebody. */
import type { Plan, Start } from '../plan.js'
import type { EndOf } from './end.js'
import type { Broken, Open } from './row-text.js'

const DAY_MS = 86_400_000

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
  if (
    hasPassed('ours', plan.settings.fullListingEveryMs, { plan, start }) &&
    report?.accounts[0]?.listing !== 'full'
  )
    found.push('P1: after a month the listing is not a full one')
  // What is over rests for 30 days at most.
  const idle = [
    'draft',
    'user_demo',
    ...(hasPassed('server', 30 * DAY_MS, { plan, start }) ? [] : ['complete']),
  ]
  const since = Math.min(...world.told.slice(toldBefore).map(({ dateMs }) => dateMs))
  const rows = await reader.query(`SELECT s.id FROM main.surveys s
    JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
    WHERE s.account = '${account}' AND s._missing_since IS NULL AND s.status NOT IN ('${idle.join(`', '`)}')
      AND (epoch_ms(f.refreshed_at) < ${since} OR epoch_ms(f.refreshed_at) > ${await world.nowMs()})`)
  for (const { id } of rows) found.push(`P1: after a month survey ${id} is not read again`)
  return found
}

/**
 * Nothing tells a time that a clock ran ahead to, and that has come since, from a right one: an interval counts from there.
 * A time that still lies ahead is not believed.
 */
const hasPassed = (
  whose: 'ours' | 'server',
  intervalMs: number,
  { plan: { starts }, start }: Pick<NightOf, 'plan' | 'start'>,
): boolean => {
  const before = starts[starts.indexOf(start) - 1]?.clockAhead
  const passedMs = start.gapMs - (before?.whose === whose ? before.byMs : 0)
  return passedMs < 0 || passedMs >= intervalMs
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
