/**
 * The types of the API document ("Resources and their fields") as zod schemas, each with what was expected in
 * words: a rejection is read by somebody who asks the API's owner about it. A schema's output is what a cell of
 * the table holds.
 */
import { z } from 'zod'
import { parseInstant } from '../model/instant.js'

/** `integer`. Past 2^53 - 1 a number has lost digits already, so it is refused. -0 becomes 0: they must compare equal. */
export const integer = z.int('expected an integer of at most 2^53 - 1').overwrite((value) => value + 0)

/** `integer` that counts something. */
export const count = z
  .int('expected an integer of at most 2^53 - 1')
  .min(0, 'expected a count of 0 or more')
  .overwrite((value) => value + 0)

/** `float` and `number`. Finite: `1e999` is legal JSON. */
export const float = z.number('expected a finite number').overwrite((value) => value + 0)

export const text = z.string('expected a string')

export const flag = z.boolean('expected true or false')

const TIMESTAMP = 'expected an ISO 8601 date-time with an offset'

export const timestamp = z.string(TIMESTAMP).transform((value, check) => {
  const instant = parseInstant(value)
  if (instant !== null) return instant
  check.addIssue(TIMESTAMP)
  return z.NEVER
})

export const object = <const Shape extends z.ZodRawShape>(shape: Shape) =>
  z.object(shape, 'expected an object')

export const array = z.array(z.unknown(), 'expected an array')

/** Null and left out are one: null. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().default(null)

/** A schema for every API field of a row, each with the row's own type: what the compiler holds a response schema to. */
export type ResponseShape<Row> = { readonly [Name in Exclude<keyof Row, '_extra'>]: z.ZodType<Row[Name]> }
