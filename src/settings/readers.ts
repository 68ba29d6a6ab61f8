/**
 * One schema for each kind of value. A schema makes a typed value from text or from a value of YAML, or says what is wrong. File,
 * environment and flags use the same schemas, so each bound and each message exists once.
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

/**
 * A value, or what is wrong with it. Messages put `problem` after the name of the setting: "must be …". A problem never quotes the value.
 */
export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string }

export const good = <T>(value: T): Read<T> => ({ ok: true, value })
export const bad = (problem: string): Read<never> => ({ ok: false, problem })

/** The value as `schema` reads it, or its first problem. */
export const readAs = <T>(schema: z.ZodType<T>, value: unknown): Read<T> => {
  const read = schema.safeParse(value)
  return read.success ? good(read.data) : bad(read.error.issues[0]?.message ?? 'is wrong')
}

/** Text from which `make` makes a value. Anything but text has the problem `notText`. */
export const textAs = <T>(notText: string, make: (text: string) => Read<T>) =>
  z.string(notText).transform(reporting(make))

/** Text that stays as it is, if `isGood`. */
export const textThat = (problem: string, isGood: (text: string) => boolean) =>
  z.string(problem).refine(isGood, problem)

/** A list from which `make` makes a value, so that one problem can be about the whole list. */
export const listAs = <T>(notList: string, make: (items: readonly unknown[]) => Read<T>) =>
  z.array(z.unknown(), notList).transform(reporting(make))

const reporting =
  <Value, T>(make: (value: Value) => Read<T>) =>
  (value: Value, context: z.RefinementCtx): T => {
    const read = make(value)
    if (read.ok) return read.value
    context.issues.push({ code: 'custom', message: read.problem, input: value })
    return z.NEVER
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
export const durationOrForever = (min: string, max: string) =>
  textAs(`${NO_DURATION}, or forever`, (text): Read<number | null> => {
    if (text === 'forever') return good(null)
    const read = readAs(durationFrom(min, max), text)
    return read.ok ? read : bad(`${read.problem}, or forever`)
  })

/** A whole number, bounds inclusive. Text is read too, because the environment has only text. */
export const wholeNumberFrom = (
  min: number,
  max: number,
  error = `must be a whole number from ${min} to ${max}`,
) =>
  z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value),
    z.int({ error, abort: true }).min(min, error).max(max, error),
  )

/** Also reads true and false as text. */
export const trueOrFalse = () =>
  z.preprocess(
    (value) => (value === 'true' ? true : value === 'false' ? false : value),
    z.boolean('must be true or false'),
  )

/** A part of the whole; null for false. Text is read too, as from a variable. */
export const partOrOff = () => {
  const problem = 'must be a part of the whole, above 0 and up to 1, such as 0.25, or false'
  return z.preprocess(
    (value) =>
      value === 'false' ? false : typeof value === 'string' && value.trim() !== '' ? Number(value) : value,
    z
      .union([z.number().gt(0, problem).max(1, problem), z.literal(false)], problem)
      .transform((part) => (part === false ? null : part)),
  )
}

export const oneOf = <const T extends readonly string[]>(...choices: T) =>
  z.enum(choices, `must be one of ${choices.join(', ')}`)

/** The items of a YAML list, or of text with commas. */
export const commaSeparated = (value: unknown): unknown =>
  typeof value === 'string' ? value.trim().split(/\s*,\s*/) : value

const areDifferent = (items: readonly unknown[]): boolean => new Set(items).size === items.length

/** A list of one or more different choices: a YAML list, or text with commas. */
export const listOf = <T extends string>(...choices: readonly T[]) => {
  const problem = `must be a list of ${choices.join(', ')}: at least one, none twice`
  return z.preprocess(
    commaSeparated,
    listAs(problem, (items): Read<readonly T[]> => {
      const chosen = items.flatMap((item) => choices.filter((choice) => choice === item))
      const isGood = chosen.length > 0 && chosen.length === items.length && areDifferent(chosen)
      return isGood ? good(chosen) : bad(problem)
    }),
  )
}

/** A list of different names, which may be empty. The problem suggests the known name that is nearest to an unknown one. */
export const namesOf = <T extends string>(what: string, known: readonly T[]) =>
  listAs(`must be a list of ${what}s, such as [${known[0]}], or []`, (items): Read<readonly T[]> => {
    const chosen = items.flatMap((name) => known.filter((choice) => choice === name))
    const unknown = items.find((name) => !known.some((choice) => choice === name))
    if (unknown !== undefined) {
      const meant = typeof unknown === 'string' ? nearest(unknown, known) : null
      return bad(`must name known ${what}s, such as ${meant ?? known.join(', ')}`)
    }
    return areDifferent(chosen) ? good(chosen) : bad('must name nothing twice')
  })

/** A list of different items, which may be empty. The problem counts from 1 to the first item that is wrong. */
export const itemsOf = <T extends string | number>(what: string, item: z.ZodType<T>) =>
  listAs(`must be a list of ${what}`, (values): Read<readonly T[]> => {
    const read = values.map((value) => readAs(item, value))
    const items = read.flatMap((result) => (result.ok ? [result.value] : []))
    if (items.length < read.length)
      return bad(`must be a list of ${what}; item ${read.findIndex(({ ok }) => !ok) + 1} is none`)
    return areDifferent(items) ? good(items) : bad('must name nothing twice')
  })

/** The name of a time zone that Node supports. */
export const timeZone = () =>
  textThat('must be the name of a time zone, such as Europe/Paris or UTC', (text) => {
    // Node supports the default, and a check would take 10 ms at every start.
    if (text === 'UTC') return true
    try {
      return /^[A-Za-z]/.test(text) && createCalendar(text) !== null
    } catch {
      // Node does not know the time zone.
      return false
    }
  })

/** The tag of a locale whose data Node has, as Node writes the tag. */
export const locale = () => {
  const problem = 'must be the tag of a language that Node supports, such as en-GB or de-DE'
  return textAs(problem, (text) => {
    // Node has the default, so we need no check, as for the time zone.
    if (text === 'en-GB') return good(text)
    try {
      const [known] = Intl.NumberFormat.supportedLocalesOf(text)
      return known === undefined ? bad(problem) : good(known)
    } catch {
      // The text is no tag.
      return bad(problem)
    }
  })
}

const LINE_CHARACTERS_MAX = 100

export const lineOfText = () => {
  const problem = `must be a text of 1 to ${LINE_CHARACTERS_MAX} characters on one line`
  return z
    .string(problem)
    .trim()
    .refine(
      (title) => title !== '' && [...title].length <= LINE_CHARACTERS_MAX && !/\p{Cc}/u.test(title),
      problem,
    )
}

/** A path of a file or directory, unchanged. */
export const filePath = textThat(
  'must be a path, as text',
  (text) => text.trim() !== '' && !text.includes('\0'),
)

/** Bounds of a rate, for `rate_limit` in the file and `60/60s` in the environment. */
export const RATE_REQUESTS_MAX = 10_000
export const rateRequests = wholeNumberFrom(1, RATE_REQUESTS_MAX)
export const ratePer = durationFrom('100ms', '1h')

const NO_RATE = 'must be requests per duration, such as 60/60s'

export const rate = textAs(NO_RATE, (text): Read<Rate> => {
  const [requests = '', per = '', ...rest] = text.split('/')
  if (rest.length > 0 || parseDuration(per) === null || !/^\d{1,9}$/.test(requests)) return bad(NO_RATE)
  const [count, perMs] = [readAs(rateRequests, requests), readAs(ratePer, per)]
  if (!count.ok) return bad(`must allow from 1 to ${RATE_REQUESTS_MAX} requests, such as 60/60s`)
  return perMs.ok
    ? good({ requests: count.value, perMs: perMs.value })
    : bad('must be per a duration from 100ms to 1h, such as 60/60s')
})

/** `readTextFile`, or a replacement, which fails with an error that `whyUnreadable` explains. */
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
export const readSecret = async (readFile: ReadFile, path: string, schema: z.ZodType<Secret>) => {
  const text = await readText(readFile, path)
  return { read: text.ok ? readAs(schema, text.value.replace(/[\r\n]+$/, '')) : text, isReadable: text.ok }
}
