/** One rule for each field of a table of the API document, "Resources and their fields": there, and of its type. */
import type { Field, Fields } from '../fields.js'
import { parseMoment } from '../instant.js'
import { isObject, type JsonObject } from '../json.js'
import type { Evidence } from '../read/evidence.js'
import { fail, PASS, passWith, type Rule, unseen, type Verdict } from '../verdict.js'

/** A record and where it was seen. */
export interface SeenRecord {
  readonly asked: string
  /** As in `survey 17`. */
  readonly name: string
  readonly record: JsonObject
}

export interface FieldRulesOptions {
  /** Begins the ids: `survey` makes `survey.title`. */
  readonly prefix: string
  readonly section: string
  readonly fields: Fields
  readonly records: (evidence: Evidence) => readonly SeenRecord[]
  /** What is said when there are no records. */
  readonly nothing: string
  /** Values that the document is silent about: neither right nor wrong. */
  readonly isOpen?: (name: string, record: JsonObject) => boolean
}

export const fieldRules = (options: FieldRulesOptions): readonly Rule[] =>
  Object.entries(options.fields).map(([name, field]) => ({
    id: `${options.prefix}.${name}`,
    section: options.section,
    text: `${name}: ${describeField(field)}`,
    check: (evidence) => checkField(name, field, evidence, options),
    passive: true,
  }))

const NAMED_VALUES_MAX = 5

const checkField = (
  name: string,
  field: Field,
  evidence: Evidence,
  { records, nothing, isOpen }: FieldRulesOptions,
): Verdict => {
  const { show } = evidence.reader
  const all = records(evidence)
  const judged = all.filter(({ record }) => isOpen?.(name, record) !== true)
  if (judged.length === 0)
    return unseen(all.length === 0 ? nothing : 'the document is silent about each value seen')
  const wrong = judged.filter(({ record }) => !conforms(record[name], field))
  const [first] = wrong
  if (first === undefined) return PASS
  const values = new Set(wrong.map(({ record }) => show(record[name])))
  const shown = [...values].slice(0, NAMED_VALUES_MAX).join(', ')
  const dots = values.size > NAMED_VALUES_MAX ? ', …' : ''
  const where = `in ${first.name}${wrong.length === 1 ? '' : ` and ${wrong.length - 1} more`}, of ${judged.length} seen`
  return fail(first.asked, `${name}: ${describeField(field)}`, `${shown}${dots} ${where}`)
}

/** A field that is deprecated, and may have gone. */
export const mayBeGone = (rule: Rule, isGone: (evidence: Evidence) => boolean): Rule => ({
  ...rule,
  check: (evidence) => (isGone(evidence) ? passWith('it is gone already') : rule.check(evidence)),
})

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
