/**
 * The types of the API document ("Resources and their fields") as zod schemas, whose output is the value of a table cell. Each names the
 * expected type in words, for the person who reports a rejected row to the owner of the API.
 */
import { z } from 'zod'
import { parseInstant } from '../model/instant.js'

/** `integer`. Larger numbers than 2^53 - 1 have lost digits already and are refused. -0 becomes 0, so that both compare equal. */
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

/** An object without unknown members. */
export const exactObject = <const Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, 'expected an object')

export const array = z.array(z.unknown(), 'expected an array')

/** A missing field counts as null. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().default(null)

/** A schema for every API field of a row, with the row's own types. The compiler checks response schemas against it. */
export type ResponseShape<Row> = { readonly [Name in Exclude<keyof Row, '_extra'>]: z.ZodType<Row[Name]> }
