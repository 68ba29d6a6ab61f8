/** After each start: the cap (P2), a true end (P4, P5), and the checks of special nights. */
import { asObjects } from '../../support/api/reference-api.js'
import type { Plan, Start } from '../plan.js'
import { PATIENCE_MS } from '../plan-nights.js'
import type { StartResult } from '../process.js'
import type { World } from '../world.js'
import type { Queryable, Violation } from './row-text.js'
import { shortListed, withoutSources } from './short-lists.js'

/** P2: no window of the server's log holds more requests than the cap allows. */
export const overCap = async (world: World, { world: { rate } }: Plan): Promise<Violation[]> => {
  const times = await world.arrivals()
  for (const [place, at] of times.entries()) {
    const later = times[place + rate.requests]
    if (later !== undefined && later - at < rate.perMs)
      return [
        `P2: ${rate.requests + 1} requests reached the server within ${(later - at).toFixed(1)} ms; the cap is ${rate.requests} in ${rate.perMs} ms`,
      ]
  }
  return []
}

export interface EndCheck {
  readonly world: World
  /** The name of the account in this start's settings. Rows under its other name stay unchanged. */
  readonly account: string
  readonly ended: StartResult
  readonly receivedBefore: number
}

/** P4 and P5: exit code, report and run record agree and are true, and a stopped run ends in time. */
export const checkEnd = async (given: EndCheck, reader: Queryable | null): Promise<Violation[]> => {
  const { account, ended } = given
  const { exitCode, report, problem } = ended
  if (exitCode === null) return []
  if (exitCode === 1) return [`P4: exit 1, a bug: ${problem}`]
  const found: Violation[] = []
  if (ended.stoppingTookMs !== null && ended.stoppingTookMs > STOPPING_MS_MAX)
    found.push(
      `P5: ${Math.round(ended.stoppingTookMs)} ms passed from the signal to the end, more than ${STOPPING_MS_MAX}`,
    )
  if (report === null) {
    if (exitCode === 0) found.push('P4: exit 0 without a report')
    return found
  }
  if (reader === null) return ['P4: there is a report, but no work database']
  const [last] = await reader.query('SELECT run_id FROM _sync.runs ORDER BY run_number DESC LIMIT 1')
  const own = report.accounts[0]
  const [record] = await reader.query(
    `SELECT status, exit_code, reason, left_over, rejected_rows FROM _sync.runs WHERE run_id = '${own?.runId}'`,
  )
  const [tasks] = await reader.query(`SELECT count(*) AS n FROM _sync.tasks WHERE account = '${account}'`)
  if (record === undefined) found.push('P4: the run is not in _sync.runs')
  else if (last?.run_id !== own?.runId)
    found.push(`P4: the run of now is not the last one, but ${last?.run_id} is`)
  // A disk that refuses every commit prevents the record of its own failure.
  if (
    record !== undefined &&
    record.exit_code !== exitCode &&
    !(exitCode === 7 && ended.generation.failed.some(isCommit))
  )
    found.push(`P4: exit ${exitCode}, but _sync.runs says ${record.exit_code} (${record.reason})`)
  if (exitCode === 0) found.push(...(await untrueSuccess(given, reader, Number(tasks?.n))))
  else if (own !== undefined && own.reason === null) found.push(`P4: exit ${exitCode} without a reason`)
  const statuses: Record<number, string> = { 0: 'complete', 3: 'partial' }
  if (own !== undefined && own.status !== (statuses[exitCode] ?? 'failed'))
    found.push(`P4: exit ${exitCode} is reported as ${own.status}`)
  return found
}

const isCommit = (step: string): boolean => /^\d+ (?:COMMIT|CHECKPOINT)/.test(step)

const STOPPING_MS_MAX = 10_000

const untrueSuccess = async (
  { world, account, ended, receivedBefore }: EndCheck,
  reader: Queryable,
  tasks: number,
): Promise<Violation[]> => {
  const found: Violation[] = []
  if (tasks > 0) found.push(`P4: exit 0, but ${tasks} surveys are left in the queue`)
  // Nobody reads the rows of two answers: the count of all surveys uses the total alone, and a probe in an outage the status.
  const isCount = (target: string) =>
    ended.report?.accounts[0]?.listing === 'incremental' && target.endsWith('/surveys?page=1')
  const isProbe = (target: string) => target.endsWith('/surveys')
  if (!ended.network.untypable.every((target) => isCount(target) || isProbe(target)))
    found.push('P4: exit 0, but a row that cannot be typed was received')
  if (ended.report?.publishError !== null || ended.report.published.length === 0)
    found.push('P4: exit 0, but nothing was published')
  const received = world.received.slice(receivedBefore)
  if (!received.some(({ path }) => path.endsWith('/surveys')))
    found.push('P4: exit 0, but nothing was listed')
  const [failed] = await reader.query(
    `SELECT count(*) AS n FROM main.freshness WHERE account = '${account}' AND last_error IS NOT NULL`,
  )
  if (Number(failed?.n) > 0) found.push('P4: exit 0, but a survey could not be refreshed')
  return found
}

const DAY_MS = 86_400_000

export interface NightCheck extends EndCheck {
  readonly plan: Plan
  readonly start: Start
  /** The refusals before this start, as in `World.refusals`. */
  readonly refusedBefore: ReadonlySet<string>
}

/** Refused surveys, a night a month later without faults, a published file held by another process. */
export const checkNight = async (given: NightCheck, reader: Queryable): Promise<Violation[]> => [
  ...(await stale(given, reader)),
  ...(await restedTooLong(given, reader)),
  ...(await unlisted(given, reader)),
  ...(await shortListed(given, reader)),
  ...(await withoutSources(given, reader)),
  ...costly(given),
  ...unnoticed(given),
  ...overBudget(given),
  ...(await starved(given, reader)),
  ...replaced(given),
  ...impatient(given),
]

/** P1: an outage within the patience fails no survey and no run. A longer one ends the run, and fails no survey either. */
const impatient = ({ start: { outage }, ended: { report, exitCode } }: NightCheck): Violation[] => {
  const run = report?.accounts[0]
  if (outage === null || run === undefined) return []
  const isLong = outage.forMs > PATIENCE_MS
  return [
    ...(run.surveysFailed > 0 ? [`P1: ${run.surveysFailed} surveys failed by an outage`] : []),
    ...(exitCode === 4 && !isLong
      ? [`P1: the run did not wait for the end of an outage: ${run.reason}`]
      : []),
  ]
}

/** P1: after a month everything is read again, whatever times a wrong clock has left behind. */
const stale = async (
  { plan, world, account, start, ended: { exitCode, report }, receivedBefore }: NightCheck,
  reader: Queryable,
): Promise<Violation[]> => {
  if (!start.isOrdinary || exitCode !== 0) return []
  const found: Violation[] = []
  // A count of the surveys takes the place of a full listing for 28 days.
  const longestMs = Math.max(28 * DAY_MS, plan.settings.full_listing_every)
  if (hasPassed('ours', longestMs, { plan, start }) && report?.accounts[0]?.listing !== 'full')
    found.push('P1: after a month the listing is not full')
  // Inactive surveys wait for 30 days at most.
  const waiting = hasPassed('server', 30 * DAY_MS, { plan, start }) ? [] : INACTIVE
  const since = Math.min(...world.received.slice(receivedBefore).map(({ dateMs }) => dateMs))
  const rows = await reader.query(`SELECT s.id FROM main.surveys s
    JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
    WHERE s.account = '${account}' AND s._missing_since IS NULL AND s.status NOT IN ('${['', ...waiting].join(`', '`)}')
      AND (epoch_ms(f.refreshed_at) < ${since} OR epoch_ms(f.refreshed_at) > ${await world.nowMs()})`)
  for (const { id } of rows) found.push(`P1: after a month survey ${id} is not read again`)
  return found
}

/** P1: a listing ends, however small the budgets of its nights are. */
const unlisted = async (
  { plan, world, account, start }: NightCheck,
  reader: Queryable,
): Promise<Violation[]> => {
  if (!plan.knowsAll || start !== plan.starts.at(-1)) return []
  const rows = await reader.query(`SELECT id FROM main.surveys WHERE account = '${account}'`)
  const known = new Set(rows.map(({ id }) => Number(id)))
  const createdBefore = (await world.nowMs()) - DAY_MS
  return (await world.surveys())
    .filter(({ id, created_at }) => !known.has(Number(id)) && Date.parse(String(created_at)) < createdBefore)
    .map(({ id }) => `P1: survey ${id} is not known after ${plan.starts.length} nights`)
}

const INACTIVE = ['complete', 'draft', 'user_demo']

/** P1: an inactive survey waits for `max_age` at most, by the server's clock. A refused one rests too. */
const restedTooLong = async (
  { plan, world, account, ended: { exitCode }, receivedBefore }: NightCheck,
  reader: Queryable,
): Promise<Violation[]> => {
  const isDated = !plan.starts.some(({ clockAhead }) => clockAhead?.whose === 'server')
  const [first] = world.received.slice(receivedBefore)
  if (exitCode !== 0 || !isDated || first === undefined) return []
  const rows = await reader.query(`SELECT s.id FROM main.surveys s
    JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
    WHERE s.account = '${account}' AND s._missing_since IS NULL AND s.status IN ('${INACTIVE.join(`', '`)}')
      AND epoch_ms(f.refreshed_at) <= ${first.dateMs - plan.settings.maxAgeMs}`)
  return rows.map(({ id }) => `P1: survey ${id} is inactive, and was not read for longer than max_age`)
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

/** P4: requests about surveys keep to what the listing has left of `--max-requests`, and a run that has nothing left sends one. */
const overBudget = ({ start: { requestsMax }, ended: { report } }: NightCheck): Violation[] => {
  const usage = report?.accounts[0]?.requestUsage ?? []
  const sent = (isListing: boolean) =>
    usage.reduce(
      (sum, { reason, requests }) => sum + ((reason === 'listing') === isListing ? requests : 0),
      0,
    )
  const left = Math.max(1, (requestsMax ?? Number.POSITIVE_INFINITY) - sent(true))
  return sent(false) > left
    ? [`P4: ${sent(false)} requests about surveys were sent, but --max-requests ${requestsMax} left ${left}`]
    : []
}

/** P1: no survey waits that would fit into the requests that a survey in parts took. */
const starved = async (
  { plan, world, account, start: { requestsMax }, ended: { report }, receivedBefore }: NightCheck,
  reader: Queryable,
): Promise<Violation[]> => {
  const run = report?.accounts[0]
  if (run?.reason !== `stopped by --max-requests ${requestsMax}`) return []
  const tasks =
    await reader.query(`SELECT survey_id, last_run_id = '${run.runId}' AS tried, unfinished_at IS NOT NULL AS begun, attempts > 1 AS again,
      last_error IS NULL AND requests_needed IS NULL AS untried FROM _sync.tasks WHERE account = '${account}'`)
  const received = world.received.slice(receivedBefore)
  const requestsOf = (id: unknown) => received.filter(({ path }) => path.includes(`/surveys/${id}/`)).length
  // In the run that begins it, its list and its progress are requested before its size is known.
  const taken = tasks
    .filter(({ tried, begun }) => tried === true && begun === true)
    .reduce((sum, { survey_id: id, again }) => sum + requestsOf(id) - (again === true ? 0 : 2), 0)
  const sourcesOf = await sourcesExpected(world, reader, account)
  return tasks
    .filter(({ untried }) => untried === true)
    .flatMap(({ survey_id: id }) => {
      const sources = sourcesOf(Number(id))
      const needed = Math.max(1, Math.ceil(sources / plan.world.pageSize)) + 1 + sources
      return needed < taken
        ? [
            `P1: survey ${id} waits, and would take at most ${needed} requests; a survey in parts took ${taken}`,
          ]
        : []
    })
}

/** The most sources that a run may expect of a survey. One that was never read may have as many as any other, and at least one. */
const sourcesExpected = async (
  world: World,
  reader: Queryable,
  account: string,
): Promise<(surveyId: number) => number> => {
  const rows = await reader.query(`SELECT survey_id, refreshed_at IS NOT NULL AS is_read, (SELECT count(*)
      FROM main.sample_sources s WHERE s.account = f.account AND s.survey_id = f.survey_id) AS sources
    FROM main.freshness f WHERE account = '${account}'`)
  const stored = new Map(rows.map(({ survey_id, sources }) => [Number(survey_id), Number(sources)]))
  const read = new Set(
    rows.filter(({ is_read }) => is_read === true).map(({ survey_id }) => Number(survey_id)),
  )
  const shown = new Map(
    (await world.surveys()).map(({ id, sample_sources: sources }) => [Number(id), asObjects(sources).length]),
  )
  const most = Math.max(1, ...stored.values())
  return (id) => Math.max(read.has(id) ? (stored.get(id) ?? 0) : most, shown.get(id) ?? 0)
}

const NAMES = { sample_sources: /list of sample sources/, fieldwork_progress: /fieldwork progress/ } as const

/** P1: a held file may be the newest state, so no older one replaces it while it cannot be read. */
const replaced = ({ start: { isHeld }, ended: { exitCode } }: NightCheck): Violation[] =>
  isHeld && exitCode !== 7
    ? [`P1: the work database was rebuilt while the published file was held: exit ${exitCode}, not 7`]
    : []
