/** The words in which the JSON documents are declared: zod schemas with a meaning, also of columns as their tables declare them. */
import { z } from 'zod'
import { EXIT_CODES } from '../../../src/base/errors.js'
import type { Column, Field, TableDeclaration } from '../../../src/model/columns.js'

export const text = (meaning: string) => z.string().describe(meaning)
export const count = (meaning: string) => z.int().min(0).describe(meaning)
export const number = (meaning: string) => z.number().min(0).describe(meaning)
export const flag = (meaning: string) => z.boolean().describe(meaning)
export const moment = (meaning: string) => z.string().meta({ format: 'date-time', description: meaning })
export const list = <Item extends z.ZodType>(item: Item, meaning: string) => z.array(item).describe(meaning)
export const object = <Shape extends z.ZodRawShape>(meaning: string, shape: Shape) =>
  z.strictObject(shape).describe(meaning)
/** A list of objects. */
export const listOf = <Shape extends z.ZodRawShape>(meaning: string, shape: Shape) =>
  list(z.strictObject(shape), meaning)
export const orNull = <Of extends z.ZodType>(of: Of) => {
  const { description = '' } = of
  return of.nullable().describe(description)
}
export const exitCode = (meaning: string) => z.literal(Object.values(EXIT_CODES)).describe(meaning)
export const EXIT_CODE = 'The exit code of the command'

/** The comment of a column without the list of its values, which JSON Schema has as values. */
export const meaningOf = ({ comment, values }: Field): string =>
  values === undefined
    ? comment
    : comment.replace(`: ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`, '')

/** A field as it is declared, perhaps with a meaning of its own in JSON. */
export const declared = (field: Field, meaning = meaningOf(field)): z.ZodType => {
  const { type, nullable, values } = field
  const typed = () => {
    if (values !== undefined) return z.enum(values).describe(meaning)
    switch (type) {
      case 'BIGINT':
        return z.int().describe(meaning)
      case 'DOUBLE':
        return number(meaning)
      case 'BOOLEAN':
        return flag(meaning)
      case 'TIMESTAMPTZ':
        return moment(meaning)
      default:
        return text(meaning)
    }
  }
  return nullable ? orNull(typed()) : typed()
}

/** Columns of a table, by their names with blanks between. Columns of a view or a query over it may have other names. */
export const columns = (table: TableDeclaration, names: string): Record<string, z.ZodType> =>
  Object.fromEntries(names.split(' ').map((name) => [name, declared(columnOf(table, name))]))

export const columnOf = (table: TableDeclaration, name: string): Column => {
  const column = table.columns.find((one) => one.name === name)
  if (column === undefined) throw new Error(`${table.name} has no column ${name}`)
  return column
}

export const account = text('Name of the account in the settings')

/** A JSON Schema, with the keywords that these have. */
export interface JsonSchema {
  readonly description?: string
  readonly type?: string
  readonly format?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly [keyword: string]: unknown
}

export const withoutDialect = (schema: z.ZodType): JsonSchema => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { override: withoutNumberBounds })
  return rest as JsonSchema
}

/** Every integer of JavaScript has these bounds. */
function withoutNumberBounds({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number } }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
