/**
 * Decodes one row to a typed row, or to the reason why that fails. It is pure and needs only the text of the row, so an upgrade can decode
 * a quarantined row again. A row as the API document describes it needs no text: decoding its parsed value costs a tenth.
 */
import { toUSVString } from 'node:util'
import { z } from 'zod'
import { humanCount } from '../base/human.js'
import { excerptOf } from '../http/receive.js'
import type { Column, Fields, RowOf } from '../model/columns.js'
import {
  byStatus,
  INDICATOR_FIELDS,
  INTERVIEW_STATUSES,
  type Progress,
  SAMPLE_SOURCE_FIELDS,
  type SampleSource,
  SURVEY_FIELDS,
  type Survey,
} from '../model/fields.js'
import { parseInstant } from '../model/instant.js'
import type { Drift } from '../model/survey-source.js'
import type { DecodeAgain } from '../model/warehouse.js'
import { canonicalJson, isObjectText, memberTexts, objectText, wellFormedJson } from './json-text.js'

/**
 * The types of the API document ("Resources and their fields") as zod schemas, whose output is the value of a table cell. Each names the
 * expected type in words, for the person who reports a rejected row to the owner of the API.
 */

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

/** What the API sends for a column of each type. A column of another type, such as `_extra`, is no field of the API. */
const SCHEMAS: Partial<Readonly<Record<Column['type'], z.ZodType>>> = {
  BIGINT: integer,
  VARCHAR: text,
  DOUBLE: float,
  BOOLEAN: flag,
  TIMESTAMPTZ: timestamp,
}

/** A schema for every API field of a row, with the row's own types. */
type ResponseShape<Row> = { readonly [Name in Exclude<keyof Row, '_extra'>]: z.ZodType<Row[Name]> }

/** The schema of a row with these columns, and the one without unknown members (`exact`). */
const schemasOf = <const Of extends Fields>(columns: Of) => {
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

/** The compiler cannot follow the loop of `shapeOf`. */
const hasSchemas = <Of extends Fields>(shape: object, columns: Of): shape is ResponseShape<RowOf<Of>> =>
  Object.keys(columns).every((name) => name === '_extra' || name in shape)

export type Decoded<Row> = DecodedRow<Row> | Undecodable

interface DecodedRow<Row> {
  readonly ok: true
  readonly row: Row
  readonly drift: readonly Drift[]
}

export interface Undecodable {
  readonly ok: false
  readonly id: number | null
  readonly problem: string
  /** The JSON text of the row, unchanged except that U+FFFD replaces lone surrogates. */
  readonly raw: string
  readonly drift: readonly Drift[]
}

export interface AnswerRow {
  /** Parsed; undefined if text of the answer has to be replaced first (`wellFormedJson`). */
  readonly value: unknown
  /** Cuts the JSON text of the row out of the answer. */
  text(): string
}

export interface RowDecoder<Row> {
  /** Decodes the JSON text of a row. Never throws on text that is JSON. */
  fromText(raw: string): Decoded<Row>
  /** Decodes a row without unknown members and with the right types; null for any other. */
  fromValue(value: unknown): DecodedRow<Row> | null
}

/** Decodes the value of a row if that is enough, else its text. */
export const decodeAnswerRow = <Row>(
  { fromValue, fromText }: RowDecoder<Row>,
  row: AnswerRow,
): Decoded<Row> => fromValue(row.value) ?? fromText(row.text())

/** A deeper row is quarantined, so that no later reader overflows its stack. */
export const ROW_DEPTH_MAX = 64
/** A row with more members on the levels that the API document describes is quarantined: each could be a difference from it. */
const ROW_MEMBERS_MAX = 10_000
const DESCRIBED_LEVELS = 3

/** Decodes `raw` by `schema`; `build` adds unknown fields and values, which a schema does not see. */
const decodeRow = <Fields, Row>(
  resource: Drift['resource'],
  raw: string,
  schema: z.ZodType<Fields>,
  build: (fields: Fields, text: string) => Omit<DecodedRow<Row>, 'ok'>,
): Decoded<Row> => {
  const text = wellFormedJson(raw)
  const value: unknown = JSON.parse(text)
  const replaced = text === raw ? [] : replacedTextDrift(resource, raw)
  const id = (): number | null => z.object({ id: integer }).safeParse(value).data?.id ?? null
  const refuse = (problem: string): Undecodable => ({
    ok: false,
    id: id(),
    problem,
    raw: text,
    drift: replaced,
  })
  if (isDeeper(value, ROW_DEPTH_MAX)) return refuse(`nested deeper than ${ROW_DEPTH_MAX} levels`)
  if (membersIn(value, DESCRIBED_LEVELS) > ROW_MEMBERS_MAX)
    return refuse(`more than ${humanCount(ROW_MEMBERS_MAX)} names and values`)
  const parsed = schema.safeParse(value)
  if (!parsed.success) return refuse(problemOf(parsed.error, text))
  const { row, drift } = build(parsed.data, text)
  return { ok: true, row, drift: [...drift, ...replaced] }
}

/** Whether objects and arrays nest deeper than that. A value that a later one of its name overwrote does not count. */
const isDeeper = (value: unknown, levels: number): boolean => {
  let containers = [value].filter(isContainer)
  for (let level = 0; level < levels && containers.length > 0; level++)
    containers = containers.flatMap((container) => Object.values(container).filter(isContainer))
  return containers.length > 0
}

/** The members of objects and arrays on the first `levels` levels. */
const membersIn = (value: unknown, levels: number): number => {
  if (!isContainer(value) || levels === 0) return 0
  const members: readonly unknown[] = Object.values(value)
  if (members.length > ROW_MEMBERS_MAX) return members.length
  return members.reduce((total: number, member) => total + membersIn(member, levels - 1), members.length)
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null

/**
 * A decoder of rows whose members are their declared columns. Values that a declaration does not list are kept, and reported as drift.
 */
const flatDecoder = <Row extends Readonly<Record<string, unknown>>>(
  resource: Drift['resource'],
  columns: Fields,
  { schema, exact }: { readonly schema: z.ZodObject & z.ZodType<Row>; readonly exact: z.ZodType<Row> },
): RowDecoder<Row & { readonly _extra: string | null }> => {
  const listed = Object.entries(columns).flatMap(([path, { values }]) =>
    values === undefined ? [] : { path, values },
  )
  const unknownValues = (row: Row): readonly Drift[] =>
    listed
      .filter(({ path, values }) => row[path] !== null && !values.includes(String(row[path])))
      .map(({ path }) => ({ resource, kind: 'unknown_value', path, value: String(row[path]) }))
  return {
    fromText: (raw) =>
      decodeRow(resource, raw, schema, (fields, json) => {
        const unknown = unknownMembers(json, schema.shape)
        return {
          row: { ...fields, _extra: extraOf(unknown) },
          drift: [...unknownFieldDrift(resource, unknown.keys()), ...unknownValues(fields)],
        }
      }),
    fromValue: (value) => {
      const { data } = exact.safeParse(value)
      return data === undefined
        ? null
        : { ok: true, row: { ...data, _extra: null }, drift: unknownValues(data) }
    },
  }
}

/** A drift event for each member of a row whose text is not well-formed (`wellFormedJson`). */
const replacedTextDrift = (resource: Drift['resource'], raw: string): readonly Drift[] => {
  if (!isObjectText(raw)) return []
  // Two names may become one as well-formed text. The last counts, as in any JSON object.
  const members = new Map(Array.from(memberTexts(raw), ([name, text]) => [toUSVString(name), text]))
  return [...members]
    .filter(([, text]) => wellFormedJson(text) !== text)
    .map(([path]) => ({ resource, kind: 'replaced_text', path, value: null }))
}

/** The members of an object that are not `known`, name to JSON text. */
const unknownMembers = (
  text: string,
  known: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, string> =>
  new Map([...memberTexts(text)].filter(([name]) => !Object.hasOwn(known, name)))

/** The value of `_extra`: unknown members as JSON text with sorted keys; null without any. */
const extraOf = (unknown: ReadonlyMap<string, string>): string | null =>
  unknown.size === 0 ? null : canonicalJson(objectText(unknown))

export const unknownFieldDrift = (resource: Drift['resource'], paths: Iterable<string>): readonly Drift[] =>
  Array.from(paths, (path) => ({ resource, kind: 'unknown_field', path, value: null }))

const PROBLEMS_LISTED_MAX = 3
const EXCERPT_CHARS_MAX = 60

/** Why JSON could not be typed, in one line for people. Values are quoted from its `text`, because parsing rounds long integers. */
export const problemOf = ({ issues }: z.ZodError, text: string): string => {
  const listed = issues.slice(0, PROBLEMS_LISTED_MAX).map(({ path, message }) => {
    const names = path.map(String)
    const found = textAt(text, names)
    const reason = found === null ? 'is missing' : `${message}, got ${excerpt(found)}`
    return names.length === 0 ? reason : `${names.join('.')}: ${reason}`
  })
  const unlisted = issues.length - listed.length
  return [...listed, ...(unlisted > 0 ? [`and ${unlisted} more`] : [])].join('; ')
}

const textAt = (text: string, path: readonly string[]): string | null => {
  const [name, ...rest] = path
  if (name === undefined) return text
  const found = memberTexts(text).get(name)
  return found === undefined ? null : textAt(found, rest)
}

/** The beginning of a value on one line, without characters that would steer a terminal. */
export const excerpt = (text: string): string => excerptOf(text, (same) => same, EXCERPT_CHARS_MAX)

/** The resources as the API sends them (API document, "Resources and their fields"), by the columns that `model/fields.ts` declares. */

/** API document, "Survey". */
export const surveyDecoder: RowDecoder<Survey> = flatDecoder(
  'survey',
  SURVEY_FIELDS,
  schemasOf(SURVEY_FIELDS),
)

/** API document, "Sample source". */
export const sampleSourceDecoder: RowDecoder<SampleSource> = flatDecoder(
  'sample_source',
  SAMPLE_SOURCE_FIELDS,
  schemasOf(SAMPLE_SOURCE_FIELDS),
)

// Fieldwork progress is not flat: the entries of `interview_count_by_status` become two columns each. An indicator that is null or left out
// is null, because a rate over zero interviews has no value and the API will remove `incidence_rate`.

const BY_STATUS = 'interview_count_by_status'

const entryShape = { individuals: orNull(integer), percentage: orNull(float) }
const entry = orNull(object(entryShape))
const exactEntry = orNull(object(entryShape).strict())

const byStatusShape = Object.fromEntries(INTERVIEW_STATUSES.map((status) => [status, entry]))
const exactByStatusShape = Object.fromEntries(INTERVIEW_STATUSES.map((status) => [status, exactEntry]))

/** API document, "Fieldwork progress". */
const indicatorShape = schemasOf(INDICATOR_FIELDS).schema.shape
const progressShape = { ...indicatorShape, [BY_STATUS]: orNull(object(byStatusShape)) }
const progressSchema = object(progressShape)
const exactByStatus = orNull(object(exactByStatusShape).strict())
const exactProgress = object({ ...indicatorShape, [BY_STATUS]: exactByStatus }).strict()

/** `Object.assign` and not two spreads: V8 needs 30 µs for those, with so many columns. */
const rowOf = (
  { [BY_STATUS]: counts, ...indicators }: z.output<typeof progressSchema>,
  _extra: string | null,
): Progress =>
  Object.assign(
    byStatus(
      (status) => counts?.[status]?.individuals ?? null,
      (status) => counts?.[status]?.percentage ?? null,
    ),
    indicators,
    { _extra },
  )

export const progressDecoder: RowDecoder<Progress> = {
  fromText: (raw) =>
    decodeRow('fieldwork_progress', raw, progressSchema, (fields, json) => {
      const unknown = unknownMembers(json, progressShape)
      const { paths, extra } = unknownCounts(memberTexts(json).get(BY_STATUS) ?? 'null')
      const all = extra === null ? unknown : new Map([...unknown, [BY_STATUS, extra]])
      return {
        row: rowOf(fields, extraOf(all)),
        drift: unknownFieldDrift('fieldwork_progress', [...unknown.keys(), ...paths]),
      }
    }),
  fromValue: (value) => {
    const { data } = exactProgress.safeParse(value)
    return data === undefined ? null : { ok: true, row: rowOf(data, null), drift: [] }
  },
}

/** What `interview_count_by_status` holds beyond the API document: unknown statuses, unknown fields of an entry. */
const unknownCounts = (json: string): { paths: readonly string[]; extra: string | null } => {
  if (!isObjectText(json)) return { paths: [], extra: null }
  const paths: string[] = []
  const extra = new Map<string, string>()
  for (const [status, text] of memberTexts(json)) {
    if (!Object.hasOwn(byStatusShape, status)) {
      paths.push(`${BY_STATUS}.${status}`)
      extra.set(status, text)
    } else if (isObjectText(text)) {
      const unknown = unknownMembers(text, entryShape)
      if (unknown.size > 0) extra.set(status, objectText(unknown))
      for (const name of unknown.keys()) paths.push(`${BY_STATUS}.${status}.${name}`)
    }
  }
  return { paths, extra: extra.size === 0 ? null : objectText(extra) }
}

/** Decodes quarantined rows again, which an earlier version could not type. */
export const decodeAgain: DecodeAgain = ({ endpoint, raw }) => {
  if (endpoint === 'surveys') {
    const decoded = surveyDecoder.fromText(raw)
    return decoded.ok ? { survey: decoded.row, drift: decoded.drift } : null
  }
  const decoder = endpoint === 'sample_sources' ? sampleSourceDecoder : progressDecoder
  const decoded = decoder.fromText(raw)
  return decoded.ok ? { survey: null, drift: decoded.drift } : null
}
