/**
 * The faults of a running server: which faults act on a request, how often they acted, and how they change the answer. A survey is
 * forgotten before the request is answered, and comes back when the list is replaced.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Answer, render, send } from '../answer.js'
import type { Organization } from '../world/organization.js'
import { PURPOSES, Random } from '../world/random.js'
import { type Fault, type Json, matchesPath } from './declaration.js'
import { readFaults } from './read-faults.js'

interface FaultyWorld {
  readonly seed: number
  readonly organizations: readonly Organization[]
  readonly latest: number
}

/** A request that has passed the checks of path, method, credentials and cap. */
interface ServedRequest {
  /** With `/api/v1`, as it was sent. */
  readonly path: string
  readonly query: URLSearchParams
  readonly paged: boolean
}

/** A fault that acts on one request; `index` in the list, from 0. */
interface ActingFault extends Pick<Fault, 'action'> {
  readonly index: number
}

/** A fault as it was declared, completed by the defaults, with how often it matched and acted. */
interface CountedFault extends Fault {
  /** The number of matching requests, also of those on which the fault did not act because of `after`, `times` or chance. */
  matched: number
  acted: number
}

export const createFaults = ({ seed, organizations, latest }: FaultyWorld) => {
  const hasSurvey = (id: number) =>
    organizations.some((organization) => organization.createsSurvey(id, latest))
  let faults: readonly CountedFault[] = []
  return {
    list: (): readonly Readonly<CountedFault>[] => faults,
    /**
     * Replaces all faults by `declaration`, a list, and starts counting again from 0. Gives the new list. Throws a
     * `FaultsError` and replaces nothing when a declaration is wrong. Each line of the error begins with `where`.
     */
    replace: (declaration: unknown, where = ''): readonly Readonly<CountedFault>[] => {
      const declared = readFaults(declaration, hasSurvey, where)
      for (const organization of organizations) organization.rememberSurveys()
      faults = declared.map((fault) => ({ ...fault, matched: 0, acted: 0 }))
      return faults
    },
    /**
     * The faults that act on `request`, in the order of the list. A survey that one of the faults forgets is gone when this returns. Chance
     * is drawn from a stream for each fault and each of its matching requests, so the same requests meet the same faults, whatever else is
     * in the list.
     */
    actingOn: (request: ServedRequest): readonly ActingFault[] =>
      faults.flatMap((fault, index) => {
        if (!matches(fault, request)) return []
        fault.matched += 1
        if (fault.matched <= fault.after) return []
        if (fault.times !== 'always' && fault.acted >= fault.times) return []
        const random = new Random({ seed, account: 0 }, fault.matched, PURPOSES.faults, index)
        if (!random.chance(fault.probability)) return []
        fault.acted += 1
        const { action } = fault
        if (action.forget !== undefined)
          for (const organization of organizations) organization.forgetSurvey(action.forget)
        return [{ index, action }]
      }),
  }
}

const matches = ({ match: { path, page } }: Fault, request: ServedRequest): boolean =>
  (path === undefined || matchesPath(path, request.path)) && (page === undefined || page === pageOf(request))

/** The requested page; null if there are no pages, or if the parameter is ambiguous or invalid. */
const pageOf = ({ paged, query }: ServedRequest): number | null => {
  if (!paged) return null
  const [text = '1', ...others] = query.getAll('page')
  return others.length === 0 && /^[1-9]\d*$/.test(text) ? Number(text) : null
}

interface Outcome {
  readonly answer: Answer
  readonly delayMs: number
  /** How the sending breaks off: the connection is reset, nothing is sent, or the connection ends after some bytes of the body. */
  readonly breaking: Fault['action'] | undefined
  /** Null if no status is sent. */
  readonly status: number | null
}

/**
 * Statuses and patches change the answer in their order, and delays add up. The first of hang, reset and truncate decides how the answer is
 * sent.
 */
export const outcomeOf = (unchanged: Answer, faults: readonly ActingFault[]): Outcome => {
  const actions = faults.map(({ action }) => action)
  const breaking = actions.find(({ hang, reset, truncate }) => (hang ?? reset ?? truncate) !== undefined)
  const answer = actions.reduce(shape, unchanged)
  const delayMs = actions.reduce((sum, { delay_ms }) => sum + (delay_ms ?? 0), 0)
  const status = breaking !== undefined && breaking.truncate === undefined ? null : answer.status
  return { answer, delayMs, breaking, status }
}

const shape = (
  answer: Answer,
  { status, headers = {}, body, patch, at = '' }: ActingFault['action'],
): Answer => {
  if (status !== undefined) return { ...answer, status, ...answerPartsOf(body, headers) }
  if (patch === undefined || Buffer.isBuffer(answer.body)) return answer
  const [, ...steps] = at.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return { ...answer, body: patchBelow(toJson(answer.body), steps, patch) }
}

/** The answer parts of a declared body. A text is sent unchanged, and as HTML if it begins with `<`. */
const answerPartsOf = (
  body: Json | undefined,
  headers: Answer['headers'],
): Pick<Answer, 'headers' | 'body'> => {
  if (body === undefined) return { headers, body: Buffer.alloc(0) }
  if (typeof body !== 'string') return { headers, body }
  const type = `${body.startsWith('<') ? 'text/html' : 'text/plain'}; charset=utf-8`
  return { headers: { 'content-type': type, ...headers }, body: Buffer.from(body) }
}

/** The body as a client would read it, without undefined fields. */
const toJson = (body: unknown): Json => JSON.parse(JSON.stringify(body))

const isObject = (value: Json): value is Exclude<Json & object, Json[]> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * JSON merge patch (RFC 7396): `target` with the members of `patch` merged in. A member null removes the member. A `patch` that is no
 * object replaces `target`.
 */
const mergePatch = (target: Json, patch: Json): Json => {
  if (!isObject(patch)) return patch
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, part] of Object.entries(patch)) {
    if (part === null) merged.delete(name)
    else merged.set(name, mergePatch(merged.get(name) ?? null, part))
  }
  return Object.fromEntries(merged)
}

/**
 * `document` with `patch` merged in at every place to which the steps of a JSON pointer (RFC 6901) lead: `*` is every element of
 * a list or member of an object. A pointer to nothing changes nothing.
 */
const patchBelow = (document: Json, [step, ...rest]: readonly string[], patch: Json): Json => {
  if (step === undefined) return mergePatch(document, patch)
  const patched = (name: string, part: Json): Json =>
    step === '*' || step === name ? patchBelow(part, rest, patch) : part
  if (Array.isArray(document)) return document.map((part, index) => patched(String(index), part))
  if (!isObject(document)) return document
  return Object.fromEntries(Object.entries(document).map(([name, part]) => [name, patched(name, part)]))
}

/** Sends the answer at once or after its delay. A request whose client has closed the connection is dropped. */
export const deliver = (request: FastifyRequest, reply: FastifyReply, outcome: Outcome): void => {
  if (outcome.delayMs === 0) {
    deliverNow(request, reply, outcome)
    return
  }
  // Only the listening server keeps the process alive, not a delayed answer.
  const timer = setTimeout(() => deliverNow(request, reply, outcome), outcome.delayMs).unref()
  reply.raw.once('close', () => clearTimeout(timer))
}

const deliverNow = (request: FastifyRequest, reply: FastifyReply, { answer, breaking }: Outcome): void => {
  if (breaking === undefined) {
    send(request, reply, answer)
    return
  }
  // From here on Fastify no longer handles the connection. It ends when the client or the server closes it.
  reply.hijack()
  const { socket } = request.raw
  const { reset, truncate } = breaking
  if (reset) socket.resetAndDestroy()
  if (truncate === undefined) return
  // Announces the whole body, sends its first bytes and ends the connection.
  const { status, headers, body } = render(request, answer)
  reply.raw.writeHead(status, { ...headers, 'content-length': String(body.length) })
  reply.raw.flushHeaders()
  if (truncate === 0 || body.length === 0) socket.destroySoon()
  else reply.raw.write(body.subarray(0, truncate), () => socket.destroySoon())
}
