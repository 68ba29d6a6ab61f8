/**
 * One schema or reader for each kind of value: a typed value or a problem from text or a value from YAML. File, environment and flags use
 * the same ones, so each bound and each message exists once. A reader is for what a schema cannot say.
 */
import { z } from 'zod'
import { isStop } from '../base/errors.js'
import type { Rate } from '../base/network.js'
import type { Secret } from '../base/secret.js'
import { nearest } from '../base/suggest.js'
import { whyUnreadable } from '../base/text-file.js'
import { createCalendar } from '../model/calendar.js'

const UNIT_MS = new Map(Object.entries({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }))

/**
 * `250ms`, `30s`, `5m`, `2h` or `7d` in milliseconds; null for anything else. A bare number is refused, because people take `timeout: 30`
 * for seconds, milliseconds or minutes.
 */
export const parseDuration = (text: string): number | null => {
  const [, count, unit] = /^(\d{1,15})(ms|s|m|h|d)$/.exec(text) ?? []
  const durationMs = Number(count) * (UNIT_MS.get(unit ?? '') ?? Number.NaN)
  return Number.isSafeInteger(durationMs) ? durationMs : null
}

/** Messages put `problem` after the name of the setting: "must be …". It never quotes the value. */
export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string }

export type Reader<T> = (value: unknown) => Read<T>

export const good = <T>(value: T): Read<T> => ({ ok: true, value })
export const bad = (problem: string): Read<never> => ({ ok: false, problem })

/** A reader of what `schema` takes. */
export const readerOf =
  <T>(schema: z.ZodType<T>): Reader<T> =>
  (value) => {
    const read = schema.safeParse(value)
    return read.success ? good(read.data) : bad(read.error.issues[0]?.message ?? 'is wrong')
  }

const NO_DURATION = 'must be a duration: a whole number and a unit (ms, s, m, h or d), such as 30s'

/** A duration in milliseconds. `min` and `max` are inclusive, and written as durations. */
export const durationFrom = (min: string, max: string) => {
  const [minMs, maxMs] = [parseDuration(min), parseDuration(max)]
  if (minMs === null || maxMs === null) throw new TypeError(`${min} or ${max} is not a duration`)
  const range = `must be from ${min} to ${max}`
  return z
    .string(NO_DURATION)
    .refine((text) => parseDuration(text) !== null, { error: NO_DURATION, abort: true })
    .transform((text) => parseDuration(text) ?? 0)
    .pipe(z.number().min(minMs, range).max(maxMs, range))
}

/** A duration in milliseconds; null for `forever`. */
export const durationOrForever = (min: string, max: string): Reader<number | null> => {
  const readDuration = readerOf(durationFrom(min, max))
  return (value) => {
    if (value === 'forever') return good(null)
    const read = readDuration(value)
    return read.ok ? read : bad(`${read.problem}, or forever`)
  }
}

/** A whole number, bounds inclusive. Text is read too, because the environment has only text. */
export const wholeNumberFrom = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value),
    z.int({ error, abort: true }).min(min, error).max(max, error),
  )
}

/** Text is read too. */
export const trueOrFalse = () =>
  z.preprocess(
    (value) => (value === 'true' ? true : value === 'false' ? false : value),
    z.boolean('must be true or false'),
  )

export const oneOf = <const T extends readonly string[]>(...choices: T) =>
  z.enum(choices, `must be one of ${choices.join(', ')}`)

/** A list of one or more different choices: a YAML list, or text with commas. */
export const listOf = <T extends string>(...choices: readonly T[]): Reader<readonly T[]> => {
  const readOne = readerOf(oneOf(...choices))
  return (value) => {
    const items = typeof value === 'string' ? value.trim().split(/\s*,\s*/) : value
    const read = Array.isArray(items) ? items.map(readOne) : []
    const chosen = read.flatMap((item) => (item.ok ? [item.value] : []))
    return chosen.length === 0 || chosen.length < read.length || new Set(chosen).size < chosen.length
      ? bad(`must be a list of ${choices.join(', ')}: at least one, none twice`)
      : good(chosen)
  }
}

/** A list of different names, which may be empty. An unknown one gets the nearest that is known. */
export const namesOf =
  <T extends string>(what: string, known: readonly T[]): Reader<readonly T[]> =>
  (value) => {
    if (!Array.isArray(value)) return bad(`must be a list of ${what}s, such as [${known[0]}], or []`)
    const chosen = value.flatMap((name) => known.filter((one) => one === name))
    const unknown = value.find((name) => !chosen.includes(name))
    if (unknown !== undefined) {
      const meant = typeof unknown === 'string' ? nearest(unknown, known) : null
      return bad(`must name known ${what}s, such as ${meant ?? known.join(', ')}`)
    }
    return new Set(chosen).size < chosen.length ? bad('must name nothing twice') : good(chosen)
  }

/** A list of different items, which may be empty. The problem counts from 1 to the first item that is wrong. */
export const itemsOf =
  <T extends string | number>(what: string, readOne: Reader<T>): Reader<readonly T[]> =>
  (value) => {
    if (!Array.isArray(value)) return bad(`must be a list of ${what}`)
    const read = value.map(readOne)
    const items = read.flatMap((one) => (one.ok ? [one.value] : []))
    if (items.length < read.length)
      return bad(`must be a list of ${what}; item ${read.findIndex(({ ok }) => !ok) + 1} is none`)
    return new Set(items).size < items.length ? bad('must name nothing twice') : good(items)
  }

/** The name of a time zone that Node supports. */
export const readTimeZone: Reader<string> = (value) => {
  // Node has the default. To ask for it takes 10 ms at every start.
  if (value === 'UTC') return good(value)
  try {
    if (typeof value === 'string' && /^[A-Za-z]/.test(value) && createCalendar(value)) return good(value)
  } catch {
    // Node does not know it.
  }
  return bad('must be the name of a time zone, such as Europe/Paris or UTC')
}

/** The tag of a locale that Node has the data of. */
export const readLocale: Reader<string> = (value) => {
  // Node has the default, like that of the time zone.
  if (value === 'en-GB') return good(value)
  try {
    const [locale] = typeof value === 'string' ? Intl.NumberFormat.supportedLocalesOf(value) : []
    if (locale !== undefined) return good(locale)
  } catch {
    // It is no tag.
  }
  return bad('must be the tag of a language that Node supports, such as en-GB or de-DE')
}

const REPORT_TITLE_CHARACTERS_MAX = 100

export const readReportTitle: Reader<string> = (value) => {
  const title = typeof value === 'string' ? value.trim() : ''
  return title !== '' && [...title].length <= REPORT_TITLE_CHARACTERS_MAX && !/\p{Cc}/u.test(title)
    ? good(title)
    : bad(`must be a text of 1 to ${REPORT_TITLE_CHARACTERS_MAX} characters on one line`)
}

/** A path of a file or directory, unchanged. */
export const readPath: Reader<string> = (value) =>
  typeof value === 'string' && value.trim() !== '' && !value.includes('\0')
    ? good(value)
    : bad('must be a path, as text')

/** Bounds of a rate, for `rate_limit` in the file and `60/60s` in the environment. */
export const RATE_REQUESTS_MAX = 10_000
export const rateRequests = wholeNumberFrom(1, RATE_REQUESTS_MAX)
export const ratePer = durationFrom('100ms', '1h')
export const readRateRequests = readerOf(rateRequests)
const readRatePer = readerOf(ratePer)

export const readRate: Reader<Rate> = (value) => {
  const [requests = '', per = '', ...rest] = typeof value === 'string' ? value.split('/') : []
  if (rest.length > 0 || parseDuration(per) === null || !/^\d{1,9}$/.test(requests))
    return bad('must be requests per duration, such as 60/60s')
  const [count, perMs] = [readRateRequests(requests), readRatePer(per)]
  if (!count.ok) return bad(`must allow from 1 to ${RATE_REQUESTS_MAX} requests, such as 60/60s`)
  return perMs.ok
    ? good({ requests: count.value, perMs: perMs.value })
    : bad('must be per a duration from 100ms to 1h, such as 60/60s')
}

/** `readTextFile`, or what takes its place: fails with an error that `whyUnreadable` explains. */
export type ReadFile = (path: string) => Promise<string> | string

/** The text of the file, or why it cannot be read. Messages put the reason after the name of the file. */
export const readText = async (readFile: ReadFile, path: string): Promise<Read<string>> => {
  try {
    return good(await readFile(path))
  } catch (error) {
    if (isStop(error)) throw error
    return bad(whyUnreadable(error))
  }
}

/** The secret in a file, without a line break at its end. `isReadable` is false if the file itself is the problem. */
export const readSecret = async (readFile: ReadFile, path: string, read: Reader<Secret>) => {
  const text = await readText(readFile, path)
  return { read: text.ok ? read(text.value.replace(/[\r\n]+$/, '')) : text, isReadable: text.ok }
}
