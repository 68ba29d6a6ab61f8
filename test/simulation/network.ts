/** The network between the client and the reference server: latency and faults, drawn for each request. */
import { Secret } from '../../src/base/secret.js'
import type { CreateTransport } from '../../src/http/transport.js'
import type { Generation } from './generation.js'
import { NETWORK_FAULTS, type NetworkFault, type Start } from './plan.js'
import { createRandom, type Random } from './random.js'
import type { Answer, JsonObject, World } from './world.js'

export interface NetworkLog {
  /** The faults in the order of time, for the story. */
  readonly events: string[]
  /** The surveys whose requests `refuse` answered. */
  readonly refused: Set<string>
  /** How many rows that cannot be typed reached the client. */
  untypable: number
}

export const createNetwork =
  (world: World, start: Start, log: NetworkLog, generation: Generation): CreateTransport =>
  ({ headers }) => {
    const random = createRandom(start.networkSeed)
    const sent = {
      ...Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          value instanceof Secret ? value.reveal() : value,
        ]),
      ),
      accept: 'application/json',
    }
    let requests = 0
    const refusal = createRefusal(start.refuse, log)
    return {
      get: async ({ target }, signal) => {
        requests += 1
        const plan = drawRequest(random, start, target)
        const { fault, draw } = plan
        generation.note(`> ${target} ${fault ?? ''}`)
        noteEvents(log, `request ${requests} ${target}`, plan)
        await wait(plan.outboundMs, signal)
        if (fault === 'refused') throw failure('ECONNREFUSED')
        if (fault === 'reset_before') throw failure('ECONNRESET')
        if (plan.jumpHours > 0) await world.advance(plan.jumpHours)
        if (plan.vanishes) await vanish(world, draw, log)
        const honest = await world.get(target, sent)
        await comeBack(fault, plan.inboundMs, signal)
        const changed = refusal(target, honest) ?? withFault(fault, honest, draw, log)
        const answer = dated(changed, start)
        generation.note(`< ${answer.status} ${answer.headers.date}`)
        remember(world, target, answer, fault, changed !== honest)
        rememberRefusal(world, target, answer)
        return {
          status: answer.status,
          header: (name) => answer.headers[name] ?? null,
          headerNames: Object.keys(answer.headers),
          body: bodyOf(answer, fault === 'truncate' && honest.status === 200, draw, signal),
        }
      },
      destroy: async () => undefined,
    }
  }

type Refusal = (target: string, honest: Answer) => Answer | null

/** The answer that refuses a request, or null. */
const createRefusal = (refuse: Start['refuse'], log: NetworkLog): Refusal => {
  let only: string | null = null
  return (target, honest) => {
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

const withFault = (fault: NetworkFault | null, honest: Answer, draw: number, log: NetworkLog): Answer =>
  fault === null || honest.status !== 200 ? honest : spoil(honest, fault, draw, log)

/** Changes the date of an answer when the server's clock is wrong. */
const dated = (answer: Answer, { clockAhead }: Start): Answer => {
  const { date } = answer.headers
  if (clockAhead?.whose !== 'server' || date === undefined) return answer
  const wrong = new Date(Date.parse(date) + clockAhead.byMs).toUTCString()
  return { ...answer, headers: { ...answer.headers, date: wrong } }
}

/** What happens to one request. */
interface RequestPlan {
  readonly fault: NetworkFault | null
  readonly outboundMs: number
  readonly inboundMs: number
  /** From 0 up to 1; it selects the row, the status, or where the answer is cut. */
  readonly draw: number
  /** How far the world's clock moves on before the request. */
  readonly jumpHours: number
  /** Whether a survey vanishes before the request. */
  readonly vanishes: boolean
}

const drawRequest = (random: Random, start: Start, target: string): RequestPlan => ({
  fault: drawFault(random, start),
  outboundMs: random.unit() * start.latencyMsMax,
  inboundMs: random.unit() * start.latencyMsMax,
  draw: random.unit(),
  jumpHours: random.chance(jumpChance(target, start)) ? random.whole(1, start.jumps.hoursMax) : 0,
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

const noteEvents = (log: NetworkLog, what: string, { fault, jumpHours }: RequestPlan): void => {
  if (fault !== null) log.events.push(`${what}: ${fault}`)
  if (jumpHours > 0) log.events.push(`${what}: the world's clock moves on by ${jumpHours} h before it`)
}

const comeBack = async (
  fault: NetworkFault | null,
  inboundMs: number,
  signal: AbortSignal,
): Promise<void> => {
  if (fault === 'hang') await wait(Number.POSITIVE_INFINITY, signal)
  if (fault === 'reset_after') throw failure('ECONNRESET')
  await wait(inboundMs, signal)
}

const drawFault = (random: Random, { faults }: Start): NetworkFault | null => {
  let left = random.unit()
  for (const kind of NETWORK_FAULTS) {
    left -= faults[kind] ?? 0
    if (left < 0) return kind
  }
  return null
}

const wait = (durationMs: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const timer = Number.isFinite(durationMs) ? setTimeout(resolve, durationMs) : undefined
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

const failure = (code: string): Error => Object.assign(new Error(`simulated: ${code}`), { code })

async function* bodyOf(
  answer: Answer,
  isCut: boolean,
  draw: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const whole = isCut ? answer.body.subarray(0, Math.floor(draw * answer.body.length)) : answer.body
  // A body arrives after its headers.
  await Promise.resolve()
  signal.throwIfAborted()
  if (whole.length > 0) yield whole
  signal.throwIfAborted()
  if (isCut) throw failure('UND_ERR_SOCKET')
}

const spoil = (answer: Answer, fault: NetworkFault, draw: number, log: NetworkLog): Answer => {
  const other = (status: number, headers: Readonly<Record<string, string>> = {}): Answer => ({
    status,
    headers: { ...(answer.headers.date === undefined ? {} : { date: answer.headers.date }), ...headers },
    body: Buffer.from('{"error":"simulated"}'),
  })
  switch (fault) {
    case 'server_error':
      return other([500, 502, 503, 504, 408][Math.floor(draw * 5)] ?? 500)
    case 'too_many':
      return other(429, draw < 0.5 ? {} : { 'retry-after': String(Math.ceil(draw * 60)) })
    case 'not_found':
      return other(404)
    case 'garbage':
      return { ...answer, body: Buffer.from([0x80, 0x22, 0x7b, 0x00, 0xff]) }
    case 'empty':
      return { ...answer, body: Buffer.alloc(0) }
    case 'unknown_value':
    case 'missing_field':
    case 'unknown_field':
    case 'wrong_type':
      return patched(answer, fault, draw, log)
    default:
      return answer
  }
}

/** Changes one row of an answer. */
const patched = (answer: Answer, fault: NetworkFault, draw: number, log: NetworkLog): Answer => {
  const body = JSON.parse(answer.body.toString()) as Record<string, unknown>
  const [name, content] = Object.entries(body)[0] ?? ['', null]
  const rows = (Array.isArray(content) ? content : [content]) as JsonObject[]
  const place = Math.floor(draw * rows.length)
  const row = rows[place]
  if (row === undefined) return answer
  const { changed, isTypable } = change(name, row, fault, draw)
  if (!isTypable) log.untypable += 1
  const replaced = rows.map((old, at) => (at === place ? changed : old))
  const text = JSON.stringify({ ...body, [name]: Array.isArray(content) ? replaced : replaced[0] })
  return { ...answer, headers: withoutLength(answer.headers), body: Buffer.from(text) }
}

const withoutLength = ({ 'content-length': _, ...headers }: Readonly<Record<string, string>>) => headers

const change = (name: string, row: JsonObject, fault: NetworkFault, draw: number) => {
  const isProgress = name === 'fieldwork_progress'
  const omit = (field: string) => Object.fromEntries(Object.entries(row).filter(([key]) => key !== field))
  if (fault === 'unknown_field') return { changed: { ...row, mood: 'sunny' }, isTypable: true }
  if (fault === 'unknown_value' && name === 'surveys')
    return { changed: { ...row, status: 'hibernating' }, isTypable: true }
  if (fault === 'unknown_value' && name === 'sample_sources')
    return { changed: { ...row, provider: 'oracle' }, isTypable: true }
  if (fault === 'missing_field' || fault === 'unknown_value')
    return isProgress
      ? { changed: omit('incidence_rate'), isTypable: true }
      : { changed: omit((draw * 7_919) % 1 < 0.5 ? 'hashid' : 'updated_at'), isTypable: false }
  return isProgress
    ? { changed: { ...row, interviews_count: 'many' }, isTypable: false }
    : { changed: { ...row, id: 'twelve' }, isTypable: false }
}

/** Keeps every answer that reaches the client complete. */
const remember = (
  world: World,
  target: string,
  answer: Answer,
  fault: NetworkFault | null,
  isLie: boolean,
): void => {
  if (answer.status !== 200 || (fault !== null && UNREADABLE.has(fault))) return
  const [path = '', query = ''] = target.split('?')
  const body = JSON.parse(answer.body.toString()) as JsonObject
  world.received.push({ path, query, dateMs: Date.parse(answer.headers.date ?? ''), body, isLie })
}

const rememberRefusal = (world: World, target: string, { status }: Answer): void => {
  const [, id, part] = OF_SURVEY.exec(target) ?? []
  if (id !== undefined && status >= 300 && status < 500 && status !== 408 && status !== 429)
    world.refusals.add(`${id} ${part}`)
}

const OF_SURVEY = /\/surveys\/(\d+)\/(\w+)/

const UNREADABLE: ReadonlySet<NetworkFault> = new Set(['garbage', 'empty', 'truncate'])
