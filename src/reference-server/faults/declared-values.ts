/**
 * The kinds of value in a fault. The only error of each, and its description in the OpenAPI document, say what to give.
 * `problems.ts` writes the name of the field and the wrong value before an error.
 */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { z } from 'zod'
import { isJson, JSON_LEVELS_MAX, type Json } from './json.js'

const TEXT_CHARACTERS_MAX = 200
/** These describe the bytes that follow, so the server writes them. `truncate` cuts a body short. */
const OWN_HEADERS = ['content-length', 'transfer-encoding', 'connection']

/** The error of a value that has to be something else. */
export const give = (what: string) => ({ error: `give ${what}` })

/** A whole number; `what` describes it. */
export const whole = (what: string, min: number, max: number) => {
  const error = give(`${what}, a whole number from ${min} to ${max}`)
  return z.int(error).min(min, error).max(max, error).meta({ description: what })
}

/** A text that `isRight`; `what` describes it. */
export const textThat = (what: string, isRight: (text: string) => boolean) =>
  z
    .string(give(what))
    .max(TEXT_CHARACTERS_MAX, give(what))
    .refine(isRight, { ...give(what), abort: true })

export const justTrue = z.literal(true, give('true, or leave it out'))

export const json = (what: string) =>
  z
    .unknown()
    .transform((value, context): Json => {
      if (isJson(value)) return value
      const { error: message } = give(
        `${what}, anything that is JSON, with at most ${JSON_LEVELS_MAX} levels`,
      )
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    })
    .meta({ description: what })

/** A text, or a number that is converted to text. */
const textual = (error: { readonly error: string }) =>
  z.union([z.string(), z.number().transform(String)], error)

export const queryText = textual(give('text, as it stands in the query'))

const HEADER_VALUE = give('the text of a header, without line breaks')

/** Names are converted to lower case. */
export const headers = z
  .record(
    z.string(),
    textual(HEADER_VALUE).refine((value) => succeeds(() => validateHeaderValue('name', value)), HEADER_VALUE),
    give('an object of names and texts, such as {"retry-after": "30"}'),
  )
  .check(({ value, issues }) => {
    for (const name of Object.keys(value)) {
      const own = OWN_HEADERS.includes(name.toLowerCase())
      if (!own && succeeds(() => validateHeaderName(name))) continue
      const reason = own ? 'the server writes it' : 'this is not the name of a header'
      issues.push({ code: 'custom', message: `leave it out: ${reason}`, path: [name], input: value })
    }
  })
  .transform((value) =>
    Object.fromEntries(Object.entries(value).map(([name, text]) => [name.toLowerCase(), text])),
  )
  .meta({ description: 'Headers of the answer' })

const succeeds = (check: () => void): boolean => {
  try {
    check()
    return true
  } catch {
    return false
  }
}
