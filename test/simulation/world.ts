/** The real reference server without a network. Every answer that the client received is kept for the oracle. */
import { paginationOf } from '../../src/reference-server/api/endpoints.js'
import type { ProgressResource } from '../../src/reference-server/resources.js'
import { createUnlistenedServer } from '../../src/reference-server/server.js'
import { createWorldClock, type Micros, parseIsoTime } from '../../src/reference-server/time.js'
import { Organization } from '../../src/reference-server/world/organization.js'
import { asObjects, type JsonObject } from '../support/api/reference-api.js'
import { firstMoves, type Moves, moveOnce, shownSources, summed, withKnownStatuses } from './moves.js'
import { progressText } from './oracle/row-text.js'
import type { Plan, WantedSurvey } from './plan.js'
import { createRandom, type Random } from './random.js'
import type { VirtualTime } from './virtual-time.js'

/** An answer 200 as the client received it, even if the client did not read all of it. */
export interface ReceivedAnswer {
  readonly path: string
  readonly query: string
  /** The `Date` header, milliseconds. */
  readonly dateMs: number
  readonly body: JsonObject
  /** Whether a fault changed it. */
  readonly isLie: boolean
  readonly asOf: AsOf
}

/** What the API showed at a moment follows from this. */
interface AsOf {
  readonly at: Micros
  readonly moves: Moves
}

export interface World {
  readonly account: { readonly name: string; readonly id: number; readonly token: string }
  readonly received: ReceivedAnswer[]
  /** `12 sample_sources` for each endpoint of a survey that a fault refused, with a status that says no. */
  readonly refusals: Set<string>
  get(url: string, headers: Record<string, string>): Promise<Answer>
  /** All surveys of the API at this moment, each with its sources and progress. */
  surveys(): Promise<readonly JsonObject[]>
  arrivals(): Promise<readonly number[]>
  /** The server's true time, milliseconds. */
  nowMs(): Promise<number>
  advance(hours: number): Promise<void>
  /** Makes the server answer every later request as of this moment. */
  stopClock(): Promise<void>
  /** Removes these surveys for good. */
  forget(ids: readonly number[]): Promise<void>
  /** Moves sources of this survey, or of any for null; returns what moved. */
  move(surveyId: number | null, random: Random): string
  /** From now on the client knows all statuses. */
  showKnownStatuses(): void
  /** The progress of each source of a survey as it was, as text, by the id of the source. */
  sourceProgressOf(surveyId: number, asOf: AsOf): ReadonlyMap<number, string>
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly asOf: AsOf
}

const START_AT = '2026-03-01T00:00:00Z'
/** The world's clock does not pass this time, because surveys are created all the time. */
const LATEST = '2026-04-15T00:00:00Z'

const START = Number(parseIsoTime(START_AT))

/** The first world from this seed on with the sources and the survey that the plan wants. */
const organizationOf = ({ world }: Plan): { readonly seed: number; readonly organization: Organization } => {
  for (let { seed } = world; ; seed += 1) {
    const { surveys, sourceChanges, touch, isLate } = world
    const lateCorrections = { share: isLate ? 1 : 0, days: LATE_DAYS }
    const plan = { seed, account: 0, surveys, startAt: START, sourceChanges, touch, lateCorrections }
    const organization = new Organization(plan)
    if (
      world.wanted !== null &&
      !organization.surveyIndexes(START).some(isWanted(organization, world.wanted))
    )
      continue
    const sources = organization
      .surveyIndexes(Number(parseIsoTime(LATEST)))
      .reduce((sum, place) => sum + organization.field(place).length, 0)
    if (sources <= world.sourcesMax) return { seed, organization }
  }
}

const isWanted =
  (organization: Organization, { sourcesMin, statuses, forMs }: WantedSurvey) =>
  (index: number): boolean => {
    const statusAt = (at: Micros) =>
      organization.findSurvey(at, organization.surveyId(index)) === null
        ? ''
        : organization.survey(at, index).status
    return (
      organization.field(index).length >= sourcesMin &&
      statuses.includes(statusAt(START)) &&
      statuses.includes(statusAt(START - 1_000 * forMs))
    )
  }

const LATE_DAYS = 10

interface Request {
  readonly method: 'GET' | 'PUT' | 'POST'
  readonly url: string
  readonly headers?: Record<string, string>
  readonly payload?: object
}

export const createWorld = async (plan: Plan, time: VirtualTime): Promise<World> => {
  const { world } = plan
  // It shows the same at the same time as that of the server, to which a question about the past would have to change the time.
  const { seed, organization } = organizationOf(plan)
  const clock = createWorldClock(START, world.speed)
  let moves: Moves = world.isMoved ? firstMoves(organization, START, createRandom(world.seed)) : new Map()
  const { app, accounts } = await createUnlistenedServer({
    seed,
    surveys: world.surveys,
    sourceChanges: world.sourceChanges,
    touch: world.touch,
    lateCorrections: world.isLate ? `100%/${LATE_DAYS}d` : 'none',
    pageSize: world.pageSize,
    rateLimit: world.rate,
    rateWindow: world.rateWindow,
    retryAfter: world.retryAfter,
    clock: world.speed === 1 ? 'real' : `${world.speed}x`,
    startAt: START_AT,
  })
  const [account] = accounts
  if (account === undefined) throw new Error('the reference server has no account')
  const inject = (request: Request) => time.underWay(async () => await app.inject(request))
  const control = async (method: Request['method'], path: string, payload?: object) => {
    const answer = await inject({ method, url: `/_reference/${path}`, ...(payload && { payload }) })
    if (answer.statusCode !== 200) throw new Error(`${method} ${path}: ${answer.statusCode} ${answer.body}`)
    return answer.json<JsonObject>()
  }
  const timeNow = async () => String((await control('GET', 'time')).now)
  const setTime = async (set: string) => {
    await control('POST', 'time', { set })
    clock.set(Number(parseIsoTime(set)))
  }
  let stoppedAt: string | null = null
  const holdStill = async () => {
    if (stoppedAt !== null) await setTime(stoppedAt)
  }
  const nowShown = (): AsOf => ({ at: clock.now(), moves })
  const progressOf = (surveyId: number, { at, moves }: AsOf) => {
    const index = organization.findSurvey(at, surveyId)
    if (index === null) return null
    const sources = shownSources(organization, at, index, moves)
    const { length_of_interview } = organization.progress(at, index) ?? {}
    return { sources, ofSurvey: summed(sources, length_of_interview ?? null) }
  }
  /**
   * Kept here as well, because the server removes surveys only at its next request. They never return: a survey that
   * returned unchanged would be listed only by the next full listing.
   */
  const gone = new Set<number>()
  return {
    account,
    received: [],
    refusals: new Set(),
    get: async (url, headers) => {
      await holdStill()
      const asOf = nowShown()
      const answer = await inject({ method: 'GET', url, headers })
      const sent = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
      const { statusCode: status, rawPayload: body } = answer
      const given = { status, headers: Object.fromEntries(sent), body, asOf }
      if (!world.isMoved || status !== 200) return given
      const [, id, part] = OF_SURVEY.exec(url) ?? []
      const shown = id === undefined ? null : progressOf(Number(id), asOf)
      if (shown === null) return given
      const query = new URL(url, 'http://localhost').searchParams
      const changed =
        part === 'sample_sources'
          ? pageOf(shown.sources, Number(query.get('page') ?? 1), world.pageSize)
          : progressAnswer(shown, query.get('sample_source_id'))
      const { 'content-length': _, ...others } = given.headers
      return {
        ...{ asOf, headers: others, status: changed === null ? 404 : 200 },
        body: Buffer.from(JSON.stringify(changed ?? {})),
      }
    },
    surveys: async () => {
      await holdStill()
      const [only] = asObjects((await control('GET', 'truth')).accounts)
      const present = asObjects(only?.surveys ?? []).filter(({ id }) => !gone.has(Number(id)))
      return world.isMoved
        ? present.map((survey) => shownTruth(survey, progressOf(Number(survey.id), nowShown())))
        : present
    },
    nowMs: async () => Date.parse(await timeNow()),
    arrivals: async () =>
      asObjects((await control('GET', 'requests')).requests).map(({ at_ms }) => Number(at_ms)),
    advance: async (hours) => {
      const now = Date.parse(await timeNow())
      const then = Math.min(now + hours * 3_600_000, Date.parse(LATEST))
      if (then > now) await setTime(new Date(then).toISOString())
    },
    stopClock: async () => {
      stoppedAt = await timeNow()
    },
    forget: async (ids) => {
      for (const id of ids) gone.add(id)
      const faults = [...gone].map((id) => ({ times: 'always', action: { forget: id } }))
      await control('PUT', 'faults', faults)
    },
    move: (surveyId, random) => {
      // The answers of the server do not show moves.
      if (!world.isMoved) return 'nothing moves'
      const { at } = nowShown()
      const present = organization
        .surveyIndexes(at)
        .filter(
          (place) =>
            !gone.has(organization.surveyId(place)) && !IDLE.has(organization.survey(at, place).status),
        )
      const index =
        surveyId === null
          ? present.length > 0
            ? random.pick(present)
            : null
          : organization.findSurvey(at, surveyId)
      if (index === null) return 'nothing moves'
      const moved = moveOnce(moves, { organization, at, index, random })
      moves = moved.moves
      return `survey ${organization.surveyId(index)}: ${moved.what}`
    },
    showKnownStatuses: () => {
      moves = withKnownStatuses(moves)
    },
    sourceProgressOf: (surveyId, asOf) =>
      new Map(
        (progressOf(surveyId, asOf)?.sources ?? []).map(({ id, progress }) => [
          id,
          progressText({ ...progress }),
        ]),
      ),
    close: async () => await app.close(),
  }
}

/** Nobody reads these surveys as long as they do not change. */
const IDLE: ReadonlySet<string> = new Set(['draft', 'user_demo'])

export const OF_SURVEY = /\/surveys\/(\d+)\/(\w+)/

interface ShownProgress {
  readonly sources: ReturnType<typeof shownSources>
  readonly ofSurvey: ProgressResource
}

const pageOf = (sources: ShownProgress['sources'], page: number, size: number): object => ({
  sample_sources: sources.slice((page - 1) * size, page * size).map(({ row }) => row),
  pagination: paginationOf(page, size, sources.length),
})

/** Null for a source that is not shown. */
const progressAnswer = ({ sources, ofSurvey }: ShownProgress, sourceId: string | null): object | null => {
  const progress = sourceId === null ? ofSurvey : sources.find(({ id }) => id === Number(sourceId))?.progress
  return progress === undefined ? null : { fieldwork_progress: progress }
}

const shownTruth = (survey: JsonObject, shown: ShownProgress | null): JsonObject =>
  shown === null
    ? survey
    : {
        ...survey,
        sample_sources: shown.sources.map(({ row }) => row),
        fieldwork_progress: shown.ofSurvey,
        sample_source_progress: Object.fromEntries(shown.sources.map(({ id, progress }) => [id, progress])),
      }
