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

/**
 * The fields of an object: each with its type, whether it may be null or left out, and what it means. Objects within
 * that have no name of their own follow with theirs: `match.path`, `requests[].query`.
 */
const fieldTable = (schema: JsonSchema, named: NamedSchemas): Html =>
  table(
    ['Field', 'Type', 'May be null', 'Meaning'],
    fieldsOf(schema, '').map(({ name, field, required }) => [
      html`<code>${name}</code>`,
      typeOf(field),
      html`${[isNullable(field) ? 'yes' : 'no', ...(required ? [] : ['may be left out'])].join('; ')}`,
      meaningOf(field, named),
    ]),
  )

/** What a schema is: its name or type, and its fields where it has no name under which they stand elsewhere. */
export const shape = (schema: Schema, named: NamedSchemas): Html => {
  const inner = innerObject(schema)
  return inner === null
    ? html`<p>${typeOf(schema)}</p>`
    : html`${inner.suffix === '' ? '' : html`<p>${typeOf(schema)}, each with:</p>`}${fieldTable(inner.schema, named)}`
}

interface Field {
  readonly name: string
  readonly field: Schema
  readonly required: boolean
}

const fieldsOf = ({ properties = {}, required = [] }: JsonSchema, prefix: string): Field[] =>
  Object.entries(properties).flatMap(([key, field]) => {
    const name = `${prefix}${key}`
    const inner = innerObject(field)
    return [
      { name, field, required: required.includes(key) },
      ...(inner === null ? [] : fieldsOf(inner.schema, `${name}${inner.suffix}.`)),
    ]
  })

/** The object that a schema is, or is a list of; null where it is none, or one that has a name. */
const innerObject = (schema: Schema): { readonly schema: JsonSchema; readonly suffix: '' | '[]' } | null => {
  if (typeof schema === 'boolean') return null
  if (schema.properties !== undefined) return { schema, suffix: '' }
  const [items] = itemsOf(schema)
  return typeof items === 'object' && items.properties !== undefined ? { schema: items, suffix: '[]' } : null
}

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

type NamedSchemas = Readonly<Record<string, JsonSchema>>

/** A schema's type in words; null is told elsewhere. */
export const typeOf = (schema: Schema): Html => {
  if (typeof schema === 'boolean') return html`anything`
  if (schema.$ref !== undefined) {
    const name = nameOfReference(schema.$ref)
    return html`<a href="#${schemaAnchor(name)}">${name}</a>`
  }
  if (schema.anyOf !== undefined) return joined(schema.anyOf.filter(isNotNull).map(typeOf), ' or ')
  if (schema.type === 'array') return html`array of ${itemsOf(schema).map(typeOf)}`
  if (schema.const !== undefined) return literal(schema.const)
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
const meaningOf = (schema: Schema, named: NamedSchemas): Html => {
  if (typeof schema === 'boolean') return html``
  const referred = named[nameOfReference(schema.$ref ?? '')]
  const words = prose(schema.description ?? referred?.description ?? '')
  return schema.deprecated === true ? html`<strong>Deprecated.</strong> ${words}` : words
}
