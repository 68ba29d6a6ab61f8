/**
 * The tables of the API document, parsed from docs/reference/api.md. The decoder, the reference server and the conformance rules, which
 * have no code in common, are all tested against them, so a misreading of one of them fails a test.
 */
import { existsSync, readFileSync } from 'node:fs'

const TYPES = {
  integer: 'integer',
  text: 'string',
  timestamp: 'timestamp',
  'true or false': 'boolean',
  number: 'float',
  object: 'object',
} as const

export interface DocumentedField {
  readonly type: (typeof TYPES)[keyof typeof TYPES]
  readonly nullable?: true
  readonly values?: readonly string[]
}

export type DocumentedFields = Readonly<Record<string, DocumentedField>>

// The compiled simulation is one folder deeper.
const file = ['../../../', '../../../../']
  .map((up) => new URL(`${up}docs/reference/api.md`, import.meta.url))
  .find((url) => existsSync(url))
export const page = file === undefined ? '' : readFileSync(file, 'utf8')

const sectionOf = (heading: string): string => {
  const section = page.split(`\n### ${heading}\n`)[1]?.split('\n#')[0]
  if (section === undefined) throw new Error(`docs/reference/api.md has no section ${heading}`)
  return section
}

const isType = (name: string): name is keyof typeof TYPES => Object.hasOwn(TYPES, name)

/** The rows of a section's table: `| name | type | meaning |`. A meaning that names values begins with the first of them. */
const fieldsOf = (heading: string, values: Readonly<Record<string, readonly string[]>> = {}) =>
  Object.fromEntries(
    [...sectionOf(heading).matchAll(/^\| `(\w+)` \| ([a-z ]+) \| (.+) \|$/gm)].map(
      ([, name = '', typeText = '', meaning = '']): [string, DocumentedField] => {
        const type = typeText.replace(' or null', '')
        if (!isType(type)) throw new Error(`docs/reference/api.md: ${name} has the unknown type ${type}`)
        const named = values[name] ?? (meaning.startsWith('`') ? namesIn(meaning) : [])
        const field = { type: TYPES[type], ...(type === typeText ? {} : { nullable: true as const }) }
        return [name, type === 'text' && named.length > 0 ? { ...field, values: named } : field]
      },
    ),
  )

const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)

export const SURVEY: DocumentedFields = fieldsOf('Survey', {
  status: [...sectionOf('Survey status').matchAll(/^\| `(\w+)` \| (?!Means)/gm)].map(([, name = '']) => name),
})
export const SAMPLE_SOURCE: DocumentedFields = fieldsOf('Sample source')
export const PAGINATION: DocumentedFields = fieldsOf('Pagination object')

const COUNTS = ['sample_size', 'interviews_count', 'interview_count_by_status']
/** The document calls no field nullable. A rate over zero interviews has no value: the server writes null, and the decoder reads it. */
export const FIELDWORK_PROGRESS: DocumentedFields = Object.fromEntries(
  Object.entries(fieldsOf('Fieldwork progress')).map(([name, field]) => [
    name,
    COUNTS.includes(name) ? field : { ...field, nullable: true },
  ]),
)

export const INTERVIEW_STATUSES = namesIn(sectionOf('Interview status').split('.')[0] ?? '').slice(1)

/** An entry of `interview_count_by_status`. */
export const STATUS_ENTRY: DocumentedFields = {
  individuals: { type: 'integer' },
  percentage: { type: 'float' },
}

/** A page of a list, numbered from 1, and its pagination object. */
export const pageOf = <Row>(all: readonly Row[], page: number, pageSize: number) => {
  const pages = Math.ceil(all.length / pageSize)
  const [next_page, prev_page] = [page < pages ? page + 1 : null, page > 1 ? page - 1 : null]
  return {
    rows: all.slice((page - 1) * pageSize, page * pageSize),
    pagination: { current_page: page, next_page, prev_page, total_pages: pages, total_count: all.length },
  }
}

const VALUES = { integer: 10, string: 'text', timestamp: '', boolean: false, float: 1, object: {} } as const

/** An answer with a value for each field: null where the document allows it, the first of an enumeration, or one by type. */
export const answerOf = (fields: DocumentedFields, change: Readonly<Record<string, unknown>> = {}) => ({
  ...Object.fromEntries(
    Object.entries(fields).map(([name, { type, nullable, values }]) => [
      name,
      type === 'string' && nullable ? null : (values?.[0] ?? VALUES[type]),
    ]),
  ),
  ...change,
})
