/** The network between the client and the reference server: latency and faults, drawn for each request. */
import { Secret } from '../../src/base/secret.js'
import type { CreateTransport } from '../../src/http/transport.js'
import { pageOf, SURVEY } from '../support/api/api-document.js'
import { asObjects, type JsonObject } from '../support/api/reference-api.js'
import type { Generation } from './generation.js'
import { NETWORK_FAULTS, type NetworkFault, type Start } from './plan.js'
import { createRandom, drawFault, type Random } from './random.js'
import { type Answer, OF_SURVEY, type World } from './world.js'

export interface NetworkLog {
  /** The faults in the order of time, for the story. */
  readonly events: string[]
  /** The surveys whose requests `refuse` answered. */
  readonly refused: Set<string>
  /** The requests whose answers had a row that cannot be typed, such as `/api/v1/surveys?page=1`. */
  readonly untypable: string[]
}

export const createNetwork =
  (world: World, start: Start, log: NetworkLog, generation: Generation): CreateTransport =>
  ({ headers }) => {
    const random = createRandom(start.networkSeed)
    const moving = createRandom(start.networkSeed ^ MOVING_SALT)
    const sent: Record<string, string> = { accept: 'application/json' }
    for (const [name, value] of Object.entries(headers))
      sent[name] = value instanceof Secret ? value.reveal() : value
    let requests = 0
    const refusal = createRefusal(start.refuse, log)
    const outage = createOutage(start.outage)
    const shortSources = createShortSources(start.shortSources, world)
    return {
      get: async ({ target }, signal) => {
        requests += 1
        const drawn = drawRequest(random, start, target)
        const { draw, outboundMs, inboundMs, jumpHours, vanishes } = drawn
        const fault = outage(requests) ?? drawn.fault
        generation.note(`> ${target} ${fault ?? ''}`)
        const events = [
          fault ?? [],
          jumpHours > 0 ? `the world's clock moves on by ${jumpHours} h before it` : [],
        ]
        log.events.push(...events.flat().map((event) => `request ${requests} ${target}: ${event}`))
        await wait(outboundMs, signal)
        if (fault === 'refused') throw failure('ECONNREFUSED')
        if (fault === 'reset_before') throw failure('ECONNRESET')
        if (jumpHours > 0) await world.advance(jumpHours)
        if (vanishes) await vanish(world, draw, log)
        log.events.push(...moveBefore(target, world, start, moving))
        const honest = await world.get(target, sent)
        await comeBack(fault, inboundMs, signal)
        const listed = await shortened(start.shortList, target, world, honest)
        const shown = await shortSources(target, listed)
        const changed =
          refusal(target, honest) ?? withFault(fault, shown, draw, () => log.untypable.push(target))
        const answer = dated(changed, start)
        generation.note(`< ${answer.status} ${answer.headers.date}`)
        remember(world, target, answer, fault, changed !== honest)
        return {
          status: answer.status,
          headers: answer.headers,
          read: () => bodyOf(answer, fault === 'truncate' && honest.status === 200, signal),
          [Symbol.dispose]: () => undefined,
        }
      },
      destroy: async () => undefined,
    }
  }

/** Sources may move between two answers about their survey. */
const moveBefore = (target: string, world: World, { moving }: Start, random: Random): string[] => {
  const [, id] = OF_SURVEY.exec(target) ?? []
  return id !== undefined && moving > 0 && random.chance(moving) ? [world.move(Number(id), random)] : []
}

/** Separates the random numbers of moves. Any number would do. */
const MOVING_SALT = 0x6d6f7665

/** The answer of an API whose list shows only some surveys, consistently on all pages. */
const shortened = async (
  shortList: Start['shortList'],
  target: string,
  world: World,
  honest: Answer,
): Promise<Answer> => {
  if (shortList === null || honest.status !== 200) return honest
  const newestFirst = (await world.surveys()).toSorted((a, b) => createdMs(b) - createdMs(a))
  const shown = newestFirst.slice(Math.max(0, newestFirst.length - shortList.shown))
  const [, id] = OF_SURVEY.exec(target) ?? []
  if (id !== undefined) {
    const isHidden = !shortList.othersAnswer && !shown.some((survey) => String(survey.id) === id)
    return isHidden ? { ...honest, status: 404, body: Buffer.from('{}') } : honest
  }
  const query = new URL(target, 'http://localhost').searchParams
  const since = Date.parse(query.get('updated_since') ?? START_OF_TIME)
  const rows = shown
    .filter(({ updated_at }) => Date.parse(String(updated_at)) >= since)
    .map((survey) => Object.fromEntries(Object.keys(SURVEY).map((field) => [field, survey[field]])))
  return listOf('surveys', rows, query, honest)
}

/** Of at most as many rows as one page of these worlds has. */
const listOf = (
  name: string,
  rows: readonly JsonObject[],
  query: URLSearchParams,
  { headers: { 'content-length': _, ...headers }, ...honest }: Answer,
): Answer => {
  const { pagination } = pageOf(rows, Number(query.get('page') ?? 1), Math.max(1, rows.length))
  return { ...honest, headers, body: Buffer.from(JSON.stringify({ [name]: rows, pagination })) }
}

/** The same for the lists of sources, and then for the progress of the sources. */
const createShortSources = (shortSources: Start['shortSources'], world: World) => {
  const shownOf = new Map<string, ReadonlySet<string>>()
  return async (target: string, honest: Answer): Promise<Answer> => {
    const [, surveyId = '', part] = OF_SURVEY.exec(target) ?? []
    if (shortSources === null || honest.status !== 200 || part === undefined) return honest
    const query = new URL(target, 'http://localhost').searchParams
    if (part === 'sample_sources') {
      const newestFirst = asObjects((await surveyIn(world, surveyId))?.sample_sources ?? [])
      const shown = newestFirst.slice(Math.max(0, newestFirst.length - shortSources.shown))
      shownOf.set(surveyId, new Set(shown.map(({ id }) => String(id))))
      return listOf('sample_sources', shown, query, honest)
    }
    const sourceId = query.get('sample_source_id')
    const isShown = sourceId === null || (shownOf.get(surveyId)?.has(sourceId) ?? true)
    return shortSources.othersAnswer || isShown ? honest : { ...honest, status: 404, body: Buffer.from('{}') }
  }
}

const surveyIn = async (world: World, surveyId: string): Promise<JsonObject | undefined> =>
  (await world.surveys()).find(({ id }) => String(id) === surveyId)

const START_OF_TIME = '1970-01-01T00:00:00Z'

/** Makes the answer that refuses a request, or null. */
const createRefusal = (refuse: Start['refuse'], log: NetworkLog) => {
  let only: string | null = null
  return (target: string, honest: Answer): Answer | null => {
    const [, id, part] = OF_SURVEY.exec(target) ?? []
    if (refuse === null || id === undefined) return null
    if (refuse.parts !== 'both' && refuse.parts !== part) return null
    only ??= id
    if (refuse.of === 'one' && only !== id) return null
    log.refused.add(id)
    log.events.push(`${target}: refused with ${refuse.status}`)
    return { ...honest, status: refuse.status, body: Buffer.from('{}') }
  }
}

/** What happens to a request that is sent in the outage, or null. */
const createOutage = (outage: Start['outage']) => {
  let untilMs: number | null = null
  return (nth: number) => {
    if (outage === null || nth < outage.fromRequest) return null
    untilMs ??= performance.now() + outage.forMs
    return performance.now() < untilMs ? outage.answers : null
  }
}

/** Changes the date of an answer when the server's clock is wrong. */
const dated = (answer: Answer, { clockAhead }: Start): Answer => {
  const { date } = answer.headers
  if (clockAhead?.whose !== 'server' || date === undefined) return answer
  const wrong = new Date(Date.parse(date) + clockAhead.byMs).toUTCString()
  return { ...answer, headers: { ...answer.headers, date: wrong } }
}

/** What happens to one request. */
const drawRequest = (random: Random, start: Start, target: string) => ({
  fault: drawFault(random, NETWORK_FAULTS, start.faults),
  outboundMs: random.unit() * start.latencyMsMax,
  inboundMs: random.unit() * start.latencyMsMax,
  /** From 0 up to 1; it selects the row, the status, or where the answer is cut. */
  draw: random.unit(),
  /** How far the world's clock moves on before the request. */
  jumpHours: random.chance(jumpChance(target, start)) ? random.whole(1, start.jumps.hoursMax) : 0,
  /** Whether a survey vanishes before the request. */
  vanishes: LATER_PAGE.test(target) && random.chance(start.vanishing),
})

const LATER_PAGE = /\/surveys\?(?:.*&)?page=(?!1(?:&|$))/

/** Removes a survey from the listing while it is read, mostly a new one, which comes before others that are still unread. */
const vanish = async (world: World, draw: number, log: NetworkLog): Promise<void> => {
  const newestFirst = (await world.surveys()).toSorted((a, b) => createdMs(b) - createdMs(a))
  const id = newestFirst[Math.floor(draw * draw * newestFirst.length)]?.id
  if (id === undefined) return
  await world.forget([Number(id)])
  log.events.push(`survey ${id} vanishes`)
}

const createdMs = ({ created_at }: JsonObject): number => Date.parse(String(created_at))

/** Jumps are most likely between the pages of a listing, where they matter most. */
const jumpChance = (target: string, { jumps: { probability } }: Start): number =>
  target.includes('/surveys?') ? probability : probability / 10

const wait = (durationMs: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const timer = Number.isFinite(durationMs) ? setTimeout(resolve, durationMs) : undefined
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

const comeBack = async (fault: NetworkFault | null, afterMs: number, signal: AbortSignal): Promise<void> => {
  if (fault === 'hang') await wait(Number.POSITIVE_INFINITY, signal)
  if (fault === 'reset_after') throw failure('ECONNRESET')
  await wait(afterMs, signal)
}

const failure = (code: string): Error => Object.assign(new Error(`simulated: ${code}`), { code })

const bodyOf = async (answer: Answer, isCut: boolean, signal: AbortSignal): Promise<Buffer> => {
  // A body arrives after its headers.
  await Promise.resolve()
  signal.throwIfAborted()
  if (isCut) throw failure('UND_ERR_SOCKET')
  return answer.body
}

const withFault = (
  fault: NetworkFault | null,
  answer: Answer,
  draw: number,
  noteUntypable: () => void,
): Answer => {
  if (answer.status !== 200) return answer
  const other = (status: number, headers: Readonly<Record<string, string>> = {}): Answer => ({
    asOf: answer.asOf,
    status,
    headers: { ...(answer.headers.date === undefined ? {} : { date: answer.headers.date }), ...headers },
    body: Buffer.from('{"error":"simulated"}'),
  })
  if (fault === 'server_error') return other([500, 502, 503, 504, 408][Math.floor(draw * 5)] ?? 500)
  if (fault === 'too_many')
    return other(429, draw < 0.5 ? {} : { 'retry-after': String(Math.ceil(draw * 60)) })
  if (fault === 'not_found') return other(404)
  if (fault === 'garbage') return { ...answer, body: Buffer.from([0x80, 0x22, 0x7b, 0x00, 0xff]) }
  if (fault === 'empty') return { ...answer, body: Buffer.alloc(0) }
  return fault !== null && OF_ROWS.has(fault) ? patched(answer, fault, draw, noteUntypable) : answer
}

const OF_ROWS: ReadonlySet<NetworkFault> = new Set([
  ...(['unknown_value', 'missing_field', 'unknown_field', 'wrong_type'] as const),
])

/** Changes one row of an answer. */
const patched = (answer: Answer, fault: NetworkFault, draw: number, noteUntypable: () => void): Answer => {
  const body = JSON.parse(answer.body.toString()) as Record<string, unknown>
  const [name, content] = Object.entries(body)[0] ?? ['', null]
  const rows = (Array.isArray(content) ? content : [content]) as JsonObject[]
  const place = Math.floor(draw * rows.length)
  const row = rows[place]
  if (row === undefined) return answer
  const { changed, isTypable } = change(name, row, fault, draw)
  if (!isTypable) noteUntypable()
  const replaced = rows.map((old, at) => (at === place ? changed : old))
  const text = JSON.stringify({ ...body, [name]: Array.isArray(content) ? replaced : replaced[0] })
  const { 'content-length': _, ...headers } = answer.headers
  return { ...answer, headers, body: Buffer.from(text) }
}

const change = (name: string, row: JsonObject, fault: NetworkFault, draw: number) => {
  const isProgress = name === 'fieldwork_progress'
  const put = (change: object, isTypable: boolean) => ({ changed: { ...row, ...change }, isTypable })
  // JSON leaves out what is undefined.
  const omit = (field: string, isTypable: boolean) => put({ [field]: undefined }, isTypable)
  if (fault === 'unknown_field') return put({ mood: 'sunny' }, true)
  if (fault === 'unknown_value' && name === 'surveys') return put({ status: 'hibernating' }, true)
  if (fault === 'unknown_value' && name === 'sample_sources') return put({ provider: 'oracle' }, true)
  if (fault === 'missing_field' || fault === 'unknown_value')
    return isProgress
      ? omit('incidence_rate', true)
      : omit((draw * 7_919) % 1 < 0.5 ? 'hashid' : 'updated_at', false)
  return put(isProgress ? { interviews_count: 'many' } : { id: 'twelve' }, false)
}

/** Keeps every answer that reaches the client complete, and every refusal. */
const remember = (
  world: World,
  target: string,
  answer: Answer,
  fault: NetworkFault | null,
  isLie: boolean,
): void => {
  const { status } = answer
  const [, id, part] = OF_SURVEY.exec(target) ?? []
  if (id !== undefined && status >= 300 && status < 500 && status !== 408 && status !== 429)
    world.refusals.add(`${id} ${part}`)
  if (status !== 200 || (fault !== null && UNREADABLE.has(fault))) return
  const [path = '', query = ''] = target.split('?')
  const body = JSON.parse(answer.body.toString()) as JsonObject
  const { asOf } = answer
  world.received.push({ path, query, dateMs: Date.parse(answer.headers.date ?? ''), body, isLie, asOf })
}

const UNREADABLE: ReadonlySet<NetworkFault> = new Set(['garbage', 'empty', 'truncate'])
