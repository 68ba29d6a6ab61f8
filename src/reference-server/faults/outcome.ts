/** What faults make of an answer: another answer, later, broken, or none. */
import { type Answer, RawBody } from '../answer.js'
import type { Random } from '../world/random.js'
import type { FaultAction } from './declaration.js'
import type { ActingFault } from './fault-counter.js'
import { isJson, type Json } from './json.js'
import { changeAt, mergePatch } from './merge-patch.js'

/** What leaves the server. */
export interface Outcome {
  readonly answer: Answer
  /** So long it is kept back. */
  readonly delayMs: number
  /** `reset`: the connection is reset. `hang`: nothing comes. A number: so many bytes of the body, then the end. */
  readonly delivery: 'whole' | 'reset' | 'hang' | number
}

const GARBAGE_BYTES_MIN = 16
const GARBAGE_BYTES_MAX = 512

/** The status that is sent; null where none is. */
export const statusOf = ({ answer, delivery }: Outcome): number | null =>
  delivery === 'reset' || delivery === 'hang' ? null : answer.status

/**
 * Statuses and patches shape the answer in their order, delays add up, and of hang, reset, truncate and garbage the
 * first decides.
 */
export const outcomeOf = (answer: Answer, faults: readonly ActingFault[]): Outcome => {
  if (faults.length === 0) return { answer, delayMs: 0, delivery: 'whole' }
  const shaped = faults.reduce((before, { action }) => shape(before, action), answer)
  const delayMs = faults.reduce((sum, { action }) => sum + (action.delay_ms ?? 0), 0)
  const breaking = faults.find(({ action }) => breaks(action))
  if (breaking === undefined) return { answer: shaped, delayMs, delivery: 'whole' }
  const { action, random } = breaking
  if (action.garbage) return { answer: garbage(shaped, random), delayMs, delivery: 'whole' }
  return { answer: shaped, delayMs, delivery: action.truncate ?? (action.reset ? 'reset' : 'hang') }
}

const breaks = ({ hang, reset, truncate, garbage }: FaultAction): boolean =>
  hang !== undefined || reset !== undefined || truncate !== undefined || garbage !== undefined

const shape = (answer: Answer, { status, headers = {}, body, patch, at = '' }: FaultAction): Answer => {
  if (status !== undefined) return { ...answer, status, headers, body: given(body) }
  if (patch === undefined || answer.body instanceof RawBody) return answer
  return { ...answer, body: changeAt(toJson(answer.body), at, (target) => mergePatch(target, patch)) }
}

/** A text goes as it is, and is a page where it looks like one. */
const given = (body: Json | undefined): Json | RawBody => {
  if (body === undefined) return new RawBody(Buffer.alloc(0), null)
  if (typeof body !== 'string') return body
  return new RawBody(Buffer.from(body), `${body.startsWith('<') ? 'text/html' : 'text/plain'}; charset=utf-8`)
}

/** Says that it is JSON, and is none: its first byte cannot begin a character, in UTF-8. */
const garbage = (answer: Answer, random: Random): Answer => {
  const length = GARBAGE_BYTES_MIN + random.below(GARBAGE_BYTES_MAX - GARBAGE_BYTES_MIN)
  const bytes = Buffer.from(Array.from({ length }, () => random.below(256)))
  bytes[0] = 0x80 + random.below(0x40)
  return { ...answer, status: 200, headers: {}, body: new RawBody(bytes, 'application/json; charset=utf-8') }
}

/** The body as a client would read it: a field that is undefined is left out. */
const toJson = (body: unknown): Json => {
  const json: unknown = JSON.parse(JSON.stringify(body))
  if (isJson(json)) return json
  throw new Error('an answer has more levels than JSON of this server can have')
}
