/**
 * Finds the exact moment at which one interview started. No endpoint shows the moment, so we halve a span of time whose two ends differ in
 * the number of interviews before them, until the ends are one second, then one millisecond apart. If a bound includes its own moment, the
 * number changes at that moment, otherwise a microsecond later.
 */
import type { Clock } from '../../base/clock.js'
import { formatMoment, MICROS_PER_SECOND, parseMoment } from '../fields.js'
import { Unseen } from '../verdict.js'
import type { Reader } from './reader.js'
import type { Query } from './sender.js'

interface Start {
  readonly surveyId: number
  readonly at: bigint
  /** Whether `started_before` with the moment itself includes the interview. */
  readonly isIncluded: boolean
  /** The number of interviews that started earlier. */
  readonly earlier: number
}

/** A span in which an interview started: after `from`, up to and including `to`. */
interface Span {
  readonly from: bigint
  readonly to: bigint
  readonly countFrom: number
  readonly countTo: number
}

type CountBefore = (at: bigint) => Promise<number>

const MICRO = 1n
const MILLISECOND = 1_000n
const DAY = 86_400n * MICROS_PER_SECOND
const LONG_AGO = 946_684_800n * MICROS_PER_SECOND

/** Throws `Unseen` if no such moment is found. Sends some 25 requests. */
export const findStart = async (
  reader: Reader,
  clock: Clock,
  subject: { readonly id: number; readonly createdAt: unknown },
): Promise<Start> => {
  const { id: surveyId } = subject
  const countBefore: CountBefore = (at) => countIn(reader, surveyId, [['started_before', formatMoment(at)]])
  let span = await wholeSpan(lifeOf(reader, clock, subject), countBefore)
  for (const unit of [MICROS_PER_SECOND, MILLISECOND]) {
    span = await halve(span, unit, countBefore)
    const beforeEnd = await countBefore(span.to - MICRO)
    if (beforeEnd < span.countTo) return { surveyId, at: span.to, isIncluded: true, earlier: beforeEnd }
    const afterBegin = await countBefore(span.from + MICRO)
    if (afterBegin > span.countFrom) {
      return { surveyId, at: span.from, isIncluded: false, earlier: span.countFrom }
    }
  }
  throw new Unseen('the start times of interviews are finer than a millisecond')
}

/** Interviews of the survey in a window of time; throws `Unseen` if they cannot be counted. */
export const countIn = async (reader: Reader, surveyId: number, query: Query): Promise<number> => {
  const { total, request } = await reader.progress(surveyId, query)
  if (total === null)
    throw new Unseen(`the answer to ${request} does not count the interviews of every status`)
  return total
}

/** A span in whole seconds that begins before the survey was created, by the listing, and ends after now. */
export const lifeOf = ({ seen }: Reader, clock: Clock, { createdAt }: { readonly createdAt: unknown }) => {
  const dateMs = seen.answers.at(-1)?.dateMs ?? clock.nowMs()
  const to = BigInt(Math.floor(dateMs / 1_000)) * MICROS_PER_SECOND + DAY
  const created = parseMoment(createdAt)?.micros ?? LONG_AGO
  return { from: created - (created % MICROS_PER_SECOND) - MICROS_PER_SECOND, to }
}

const wholeSpan = async (life: ReturnType<typeof lifeOf>, countBefore: CountBefore): Promise<Span> => {
  const countEarly = await countBefore(life.from)
  const from = countEarly === 0 ? life.from : LONG_AGO
  const countFrom = countEarly === 0 ? 0 : await countBefore(from)
  const countTo = await countBefore(life.to)
  if (countTo <= countFrom) throw new Unseen('started_before does not change the number of interviews')
  return { from, to: life.to, countFrom, countTo }
}

/** Halves a span down to one `unit`; an interview still starts in it. */
const halve = async (span: Span, unit: bigint, countBefore: CountBefore): Promise<Span> => {
  let { from, to, countFrom, countTo } = span
  while (to - from > unit) {
    const middle = from + ((to - from) / 2n / unit) * unit
    const count = await countBefore(middle)
    if (count < countFrom || count > countTo) throw new Unseen('the interviews changed while they were read')
    if (count > countFrom) [to, countTo] = [middle, count]
    else [from, countFrom] = [middle, count]
  }
  return { from, to, countFrom, countTo }
}
