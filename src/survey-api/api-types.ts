/**
 * The types of the API document ("Resources and their fields") as zod schemas, whose output is the value of a table cell. Each schema names
 * the expected type in words, for the person who reports a rejected row to the owner of the API.
 */
import { z } from 'zod'
import type { Column, Fields, RowOf } from '../model/columns.js'
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

const text = z.string('expected a string')

const flag = z.boolean('expected true or false')

const TIMESTAMP = 'expected an ISO 8601 date-time with an offset'

const timestamp = z.string(TIMESTAMP).transform((value, check) => {
  const instant = parseInstant(value)
  if (instant !== null) return instant
  check.addIssue(TIMESTAMP)
  return z.NEVER
})

export const object = <const Shape extends z.ZodRawShape>(shape: Shape) =>
  z.object(shape, 'expected an object')

export const array = z.array(z.unknown(), 'expected an array')

/** A missing field counts as null. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().default(null)

/** The schema of the API's value for a column of each type. A column of another type, such as `_extra`, is no field of the API. */
const SCHEMAS: Partial<Readonly<Record<Column['type'], z.ZodType>>> = {
  BIGINT: integer,
  VARCHAR: text,
  DOUBLE: float,
  BOOLEAN: flag,
  TIMESTAMPTZ: timestamp,
}

/** A schema for every API field of a row, with the row's own types. */
type ResponseShape<Row> = { readonly [Name in Exclude<keyof Row, '_extra'>]: z.ZodType<Row[Name]> }

/** The schema of a row with these columns, and `exact`, which refuses unknown members. */
export const schemasOf = <const Of extends Fields>(columns: Of) => {
  const shape = shapeOf(columns)
  return { schema: object(shape), exact: object(shape).strict() }
}

const shapeOf = <Of extends Fields>(columns: Of): ResponseShape<RowOf<Of>> => {
  const shape: Record<string, z.ZodType> = {}
  for (const [name, { type, nullable }] of Object.entries(columns)) {
    const schema = SCHEMAS[type]
    if (schema !== undefined) shape[name] = nullable ? orNull(schema) : schema
  }
  if (!hasSchemas(shape, columns))
    throw new TypeError('a field of the API has a type of column that it does not send')
  return shape
}

/** A type guard, because the compiler cannot follow the loop of `shapeOf`. */
const hasSchemas = <Of extends Fields>(shape: object, columns: Of): shape is ResponseShape<RowOf<Of>> =>
  Object.keys(columns).every((name) => name === '_extra' || name in shape)
