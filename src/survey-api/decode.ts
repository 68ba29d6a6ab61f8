/**
 * Decodes one row to a typed row, or to the reason why it cannot be typed. The decoder is pure and needs only the text of the row, so an
 * upgrade can decode a quarantined row again. For a row as the API document describes it, the parsed value is enough, which costs a tenth.
 */
import { toUSVString } from 'node:util'
import { z } from 'zod'
import { humanCount } from '../base/human.js'
import type { Fields } from '../model/columns.js'
import type { Drift } from '../model/survey-source.js'
import { integer } from './api-types.js'
import { canonicalJson, isObjectText, memberTexts, objectText, wellFormedJson } from './json-text.js'
import { problemOf } from './problem.js'

export type Decoded<Row> = DecodedRow<Row> | Undecodable

interface DecodedRow<Row> {
  readonly ok: true
  readonly row: Row
  readonly drift: readonly Drift[]
}

interface Undecodable {
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
  /** Decodes a row without unknown members and with the right types; null for any other row. */
  fromValue(value: unknown): DecodedRow<Row> | null
}

/** Decodes the value of a row if the value is enough, otherwise its text. */
export const decodeAnswerRow = <Row>(
  { fromValue, fromText }: RowDecoder<Row>,
  row: AnswerRow,
): Decoded<Row> => fromValue(row.value) ?? fromText(row.text())

/** A deeper row is quarantined, so that no later reader overflows its stack. */
export const ROW_DEPTH_MAX = 64
/**
 * A row with more members on the levels that the API document describes is quarantined, because each member could become a difference from
 * the document.
 */
const ROW_MEMBERS_MAX = 10_000
const DESCRIBED_LEVELS = 3

/** Decodes `raw` by `schema`; `build` adds unknown fields and values, which the schema does not check. */
export const decodeRow = <Fields, Row>(
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

/** Whether objects and arrays nest deeper than `levels`. If a name is repeated in an object, only the last value counts. */
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
export const flatDecoder = <Row extends Readonly<Record<string, unknown>>>(
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
  // Two names may become the same well-formed text. Then the last counts, as in any JSON object.
  const members = new Map(Array.from(memberTexts(raw), ([name, text]) => [toUSVString(name), text]))
  return [...members]
    .filter(([, text]) => wellFormedJson(text) !== text)
    .map(([path]) => ({ resource, kind: 'replaced_text', path, value: null }))
}

/** The members of an object that are not `known`, name to JSON text. */
export const unknownMembers = (
  text: string,
  known: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, string> =>
  new Map([...memberTexts(text)].filter(([name]) => !Object.hasOwn(known, name)))

/** The value of `_extra`: unknown members as JSON text with sorted keys; null without any. */
export const extraOf = (unknown: ReadonlyMap<string, string>): string | null =>
  unknown.size === 0 ? null : canonicalJson(objectText(unknown))

export const unknownFieldDrift = (resource: Drift['resource'], paths: Iterable<string>): readonly Drift[] =>
  Array.from(paths, (path) => ({ resource, kind: 'unknown_field', path, value: null }))
