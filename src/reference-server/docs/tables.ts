/** Tables of the docs page: rows of text, and the fields of a JSON Schema with type, null and meaning. */
import { type Html, html, joined, prose } from './html.js'
import type { JsonSchema, Parameter } from './openapi-types.js'

/** A table with these columns; each cell repeats its column's name for narrow screens, where rows are blocks. */
export const table = (columns: readonly string[], rows: readonly (readonly Html[])[]): Html => html`<table>
<thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>
${rows.map(
  (cells) =>
    html`<tr>${cells.map((cell, place) => html`<td data-label="${columns[place] ?? ''}">${cell}</td>`)}</tr>
`,
)}</tbody>
</table>`

/** The fields of an object: each with its type, whether it may be null or left out, and what it means. */
export const fieldTable = (
  { properties = {}, required = [] }: JsonSchema,
  named: Readonly<Record<string, JsonSchema>>,
): Html =>
  table(
    ['Field', 'Type', 'May be null', 'Meaning'],
    Object.entries(properties).map(([name, schema]) => [
      html`<code>${name}</code>`,
      typeOf(schema),
      html`${[isNullable(schema) ? 'yes' : 'no', ...(required.includes(name) ? [] : ['may be left out'])].join('; ')}`,
      meaningOf(schema, named),
    ]),
  )

export const parameterTable = (parameters: readonly Parameter[]): Html =>
  table(
    ['Parameter', 'In', 'Type', 'Required', 'Meaning'],
    parameters.map(({ name, in: place, required, schema, description }) => [
      html`<code>${name}</code>`,
      html`${place}`,
      typeOf(schema),
      html`${required ? 'yes' : 'no'}`,
      prose(description),
    ]),
  )

/** Where on the page a schema is shown. */
export const schemaAnchor = (name: string): string => `schema-${name}`

/** The last part of a reference: the name of what it refers to. */
const nameOfReference = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1)

type Schema = JsonSchema | boolean

/** A schema's type in words; null is told elsewhere. */
export const typeOf = (schema: Schema): Html => {
  if (typeof schema === 'boolean') return html`anything`
  if (schema.$ref !== undefined) {
    const name = nameOfReference(schema.$ref)
    return html`<a href="#${schemaAnchor(name)}">${name}</a>`
  }
  if (schema.anyOf !== undefined) return joined(schema.anyOf.filter(isNotNull).map(typeOf), ' or ')
  if (schema.type === 'array') return html`array of ${itemsOf(schema).map(typeOf)}`
  if (schema.enum !== undefined) return joined(schema.enum.map(literal), ', ')
  const types = [schema.type ?? []].flat().filter((type) => type !== 'null')
  return html`${[...types, ...(schema.format === undefined ? [] : [schema.format])].join(', ')}`
}

const literal = (value: unknown): Html => html`<code>${String(value)}</code>`

const itemsOf = ({ items }: JsonSchema): Schema[] => (items === undefined ? [] : [items].flat())

const isNotNull = (schema: Schema): boolean => typeof schema === 'boolean' || schema.type !== 'null'

const isNullable = (schema: Schema): boolean => {
  if (typeof schema === 'boolean') return true
  const { type, anyOf = [] } = schema
  return [type ?? []].flat().some((each) => each === 'null') || !anyOf.every(isNotNull)
}

/** What a field means; where it has no words of its own, those of what it refers to. */
const meaningOf = (schema: Schema, named: Readonly<Record<string, JsonSchema>>): Html => {
  if (typeof schema === 'boolean') return html``
  const referred = named[nameOfReference(schema.$ref ?? '')]
  const words = prose(schema.description ?? referred?.description ?? '')
  return schema.deprecated === true ? html`<strong>Deprecated.</strong> ${words}` : words
}
