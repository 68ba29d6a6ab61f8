/** One rule for each field of a table of the API document, "Resources and their fields": it is there and has its type. */
import type { Field, Fields } from '../fields.js'
import { parseMoment } from '../instant.js'
import { isObject, type JsonObject } from '../json.js'
import type { ListReading, Reader } from '../read/reader.js'
import { Unseen } from '../unseen.js'
import { fail, PASS, type Rule, type Verdict } from '../verdict.js'

/** A record and where it was seen. */
export interface SeenRecord {
  readonly asked: string
  /** As in `survey 17`. */
  readonly name: string
  readonly record: JsonObject
  /** Whether the document does not say which value a field has here. */
  readonly isOpen?: (field: string) => boolean
}

export interface FieldRulesOptions {
  /** Begins the ids: `survey` makes `survey.title`. */
  readonly prefix: string
  readonly section: string
  readonly fields: Fields
  readonly records: (reader: Reader) => readonly SeenRecord[]
  /** The reason why a rule cannot be observed when no record shows its field. */
  readonly nothing: string
}

export const fieldRules = ({
  prefix,
  section,
  fields,
  records,
  nothing,
}: FieldRulesOptions): readonly Rule[] =>
  Object.entries(fields).map(([name, field]) => ({
    id: `${prefix}.${name}`,
    section,
    text: `${name}: ${describeField(field)}`,
    passive: true,
    check: ({ reader }) => {
      const judged = records(reader).filter(({ isOpen }) => isOpen?.(name) !== true)
      if (judged.length === 0) throw new Unseen(nothing)
      return checkField(name, field, judged, reader)
    },
  }))

const NAMED_VALUES_MAX = 5

const checkField = (
  name: string,
  field: Field,
  records: readonly SeenRecord[],
  { show }: Reader,
): Verdict => {
  const wrong = records.filter(({ record }) => !conforms(record[name], field))
  const [first] = wrong
  if (first === undefined) return PASS
  const values = new Set(wrong.map(({ record }) => show(record[name])))
  const shown = [...values].slice(0, NAMED_VALUES_MAX).join(', ')
  const dots = values.size > NAMED_VALUES_MAX ? ', …' : ''
  const where = `in ${first.name}${wrong.length === 1 ? '' : ` and ${wrong.length - 1} more`}, of ${records.length} seen`
  return fail(first.asked, `${name}: ${describeField(field)}`, `${shown}${dots} ${where}`)
}

export const conforms = (value: unknown, { type, nullable, values }: Field): boolean => {
  if (value === null) return nullable === true
  if (values !== undefined && !(typeof value === 'string' && values.includes(value))) return false
  switch (type) {
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value)
    case 'float':
      return typeof value === 'number'
    case 'timestamp':
      return parseMoment(value) !== null
    case 'object':
      return isObject(value)
    case 'string':
    case 'boolean':
      return typeof value === type
  }
}

const TYPES: Readonly<Record<Field['type'], string>> = {
  integer: 'integer',
  float: 'number',
  timestamp: 'ISO 8601 with offset',
  object: 'object',
  string: 'string',
  boolean: 'true or false',
}

const describeField = ({ type, nullable, values }: Field): string => {
  const kind = values === undefined ? TYPES[type] : `one of ${values.join(', ')}`
  return nullable === true ? `${kind}, may be null` : kind
}

const recordsOf = ({ seen, show }: Reader, endpoint: ListReading['endpoint'], name: string) =>
  seen.lists
    .filter((reading) => reading.endpoint === endpoint)
    .flatMap(({ asked, rows }): readonly SeenRecord[] =>
      rows.map((record) => ({ asked, name: `${name} ${show(record.id)}`, record })),
    )

/** The rows of all pages, once for each time they were read. */
export const surveyRecords = (reader: Reader): readonly SeenRecord[] => recordsOf(reader, 'surveys', 'survey')
export const sourceRecords = (reader: Reader): readonly SeenRecord[] =>
  recordsOf(reader, 'sample_sources', 'source')
