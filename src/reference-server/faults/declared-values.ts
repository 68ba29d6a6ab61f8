/**
 * The values that faults are declared with. Each says, as its one error and in the OpenAPI document, what to give;
 * an error comes to stand behind the name of the field and the value that is there.
 */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { z } from 'zod'
import { isJson, JSON_LEVELS_MAX, type Json } from './json.js'

const TEXT_CHARACTERS_MAX = 200
/** These tell the truth about the bytes that follow; a body that is cut short is what `truncate` is for. */
const OWN_HEADERS = ['content-length', 'transfer-encoding', 'connection']

/** What an error says of a value that is to be something else. */
export const give = (what: string) => ({ error: `give ${what}` })

/** A whole number; `what` it is. */
export const whole = (what: string, min: number, max: number) => {
  const error = give(`${what}, a whole number from ${min} to ${max}`)
  return z.int(error).min(min, error).max(max, error).meta({ description: what })
}

/** A text that `isRight`; `what` it is. */
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

/** A text, or a number that stands for it. */
const textual = (error: { readonly error: string }) =>
  z.union([z.string(), z.number().transform(String)], error)

export const queryText = textual(give('text, as it stands in the query'))

const HEADER_VALUE = give('the text of a header, without line breaks')

/** Names come out in lower case. */
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
