/** Checks of special nights: refused surveys, a night a month later without faults, a published file held by another process. */
import type { Plan, Start } from '../plan.js'
import type { EndCheck } from './end.js'
import type { Queryable, Violation } from './row-text.js'

const DAY_MS = 86_400_000

export interface NightCheck extends EndCheck {
  readonly plan: Plan
  readonly start: Start
  /** The refusals before this start, as in `World.refusals`. */
  readonly refusedBefore: ReadonlySet<string>
}

export const checkNight = async (given: NightCheck, reader: Queryable): Promise<Violation[]> => [
  ...(await stale(given, reader)),
  ...costly(given),
  ...unnoticed(given),
  ...replaced(given),
]

/** P1: after a month everything is read again, whatever times a wrong clock has left behind. */
const stale = async (
  { plan, world, account, start, ended: { exitCode, report }, receivedBefore }: NightCheck,
  reader: Queryable,
): Promise<Violation[]> => {
  if (!start.isOrdinary || exitCode !== 0) return []
  const found: Violation[] = []
  if (
    hasPassed('ours', plan.settings.full_listing_every, { plan, start }) &&
    report?.accounts[0]?.listing !== 'full'
  )
    found.push('P1: after a month the listing is not full')
  // Closed surveys rest for 30 days at most.
  const idle = [
    'draft',
    'user_demo',
    ...(hasPassed('server', 30 * DAY_MS, { plan, start }) ? [] : ['complete']),
  ]
  const since = Math.min(...world.received.slice(receivedBefore).map(({ dateMs }) => dateMs))
  const rows = await reader.query(`SELECT s.id FROM main.surveys s
    JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
    WHERE s.account = '${account}' AND s._missing_since IS NULL AND s.status NOT IN ('${idle.join(`', '`)}')
      AND (epoch_ms(f.refreshed_at) < ${since} OR epoch_ms(f.refreshed_at) > ${await world.nowMs()})`)
  for (const { id } of rows) found.push(`P1: after a month survey ${id} is not read again`)
  return found
}

/**
 * A stored time from a clock that ran ahead looks right once that time has come, so an interval counts from it. A stored time
 * that is still ahead of now is not believed.
 */
const hasPassed = (
  whose: 'ours' | 'server',
  intervalMs: number,
  { plan: { starts }, start }: Pick<NightCheck, 'plan' | 'start'>,
): boolean => {
  const before = starts[starts.indexOf(start) - 1]?.clockAhead
  const passedMs = start.gapMs - (before?.whose === whose ? before.byMs : 0)
  return passedMs < 0 || passedMs >= intervalMs
}

/** P4: one refused survey does not end the run, unless the settings allow no failure. */
const costly = ({
  plan,
  start: { refuse, faults, latencyMsMax },
  ended: { exitCode, report },
}: NightCheck): Violation[] => {
  const run = report?.accounts[0]
  // With such a latency in both directions a listing may time out, and that alone ends a run.
  if (2 * latencyMsMax >= plan.settings.requestTimeoutMs) return []
  if (refuse?.of !== 'one' || run === undefined || plan.settings.consecutive_failures_max === 1) return []
  return Object.keys(faults).length === 0 && exitCode === 4 && run.surveysFailed <= 1
    ? [`P4: one survey was refused, and that ended the run: ${run.reason}`]
    : []
}

/**
 * P4: an endpoint that answered for none of five surveys is broken, and the run fails. A survey that it refused before counts only if
 * it has never answered any.
 */
const unnoticed = ({
  world,
  start: { refuse, signal, requestsMax, durationMsMax },
  ended: { exitCode, report, network },
  receivedBefore,
  refusedBefore,
}: NightCheck): Violation[] => {
  const isStopped = signal !== null || requestsMax !== null || durationMsMax !== null
  if (refuse === null || refuse.of === 'one' || refuse.parts === 'both' || isStopped) return []
  const isAnswered = world.received
    .slice(0, receivedBefore)
    .some(({ path }) => path.endsWith(`/${refuse.parts}`))
  const counted = [...network.refused].filter(
    (id) => !isAnswered || !refusedBefore.has(`${id} ${refuse.parts}`),
  )
  if (counted.length < 5) return []
  if (exitCode === 0 || exitCode === 3)
    return [
      `P4: ${refuse.parts} answered ${refuse.status} for ${counted.length} surveys, but the exit is ${exitCode}`,
    ]
  const reason = report?.accounts[0]?.reason ?? ''
  // Fewer failures in a row may end the run before five surveys were requested.
  const isGivenUp = /^(a survey failed|.* failed one after the other)/.test(reason)
  return exitCode === 4 && !isGivenUp && !NAMES[refuse.parts].test(reason)
    ? [`P4: the reason does not name ${refuse.parts}: ${reason}`]
    : []
}

const NAMES = { sample_sources: /list of sample sources/, fieldwork_progress: /fieldwork progress/ } as const

/** P1: a held file may be the newest state, so no older one replaces it while it cannot be read. */
const replaced = ({ start: { isHeld }, ended: { exitCode } }: NightCheck): Violation[] =>
  isHeld && exitCode !== 7
    ? [`P1: the work database was rebuilt while the published file was held: exit ${exitCode}, not 7`]
    : []
