/**
 * Rows of the API document (tables in `test/support/api/api-document`) with random deviations, and the expected
 * result of decoding each. The expectation is computed from the JSON tree, without regard for speed.
 */
import { toUSVString } from 'node:util'
import fc from 'fast-check'
import {
  type DocumentedField,
  type DocumentedFields,
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  SAMPLE_SOURCE,
  STATUS_ENTRY,
  SURVEY,
} from '../api/api-document.js'
import {
  anyNode,
  anyNumber,
  anyString,
  canonical,
  depthOf,
  type JsonNode,
  type JsonObject,
  type Member,
  membersOf,
  nodeOf,
  number,
  object,
  oddName,
  print,
  string,
  withoutOverwritten,
} from './json-node.js'
import { anyTime, slowInstant } from './odd-times.js'

export interface Expected {
  readonly row: Readonly<Record<string, unknown>> | null
  /** `resource kind path value` of each event, sorted. A rejected row has only events of replaced text. */
  readonly drift: readonly string[]
  readonly id: number | null
  readonly raw: string
}

type Cell = { readonly value: unknown } | null

/** The cell of a documented type; null when the value cannot be typed. */
const cellOf = ({ type, nullable }: DocumentedField, node: JsonNode | undefined): Cell => {
  const isNull = node === undefined || (node.kind === 'word' && node.word === 'null')
  if (isNull) return nullable ? { value: null } : null
  if (type === 'boolean') return node.kind === 'word' ? { value: node.word === 'true' } : null
  if (type === 'integer' || type === 'float')
    return node.kind === 'number' ? numberOf(type, node.digits) : null
  if (node.kind !== 'string') return null
  const text = toUSVString(node.value)
  if (type === 'string') return { value: text }
  const micros = slowInstant(text)
  return micros === null ? null : { value: micros }
}

/** A JSON number is the double nearest to it (RFC 8259, section 6). */
const numberOf = (type: 'integer' | 'float', digits: string): Cell => {
  const value = Number(digits)
  if (!Number.isFinite(value)) return null
  if (type === 'integer' && (Math.abs(value) > 2 ** 53 - 1 || value !== Math.floor(value))) return null
  return { value: value === 0 ? 0 : value }
}

const idOf = (node: JsonNode): number | null => {
  const cell = cellOf({ type: 'integer' }, membersOf(node).get('id'))
  return cell === null ? null : Number(cell.value)
}

const LEVELS_MAX = 64

type Members = readonly (readonly [string, JsonNode])[]

/** A row of these cells, with `extra` members and these events; a rejection where a cell is null or the row nests too deep. */
const expectedOf = (
  resource: string,
  node: JsonNode,
  cells: readonly (readonly [string, Cell])[],
  { extra, drift }: { readonly extra: Members; readonly drift: readonly string[] },
): Expected => {
  const replaced = replacedIn(resource, node)
  const rejected = { row: null, drift: replaced, id: idOf(node), raw: print(node, true) }
  const levels = depthOf(withoutOverwritten(node))
  if (node.kind !== 'object' || levels > LEVELS_MAX || cells.some(([, cell]) => cell === null))
    return rejected
  const row = Object.fromEntries(cells.map(([name, cell]) => [name, cell?.value]))
  const _extra = extra.length === 0 ? null : canonical(objectOf(extra))
  return { ...rejected, row: { ...row, _extra }, drift: [...drift, ...replaced].sort() }
}

const unknownIn = (members: ReadonlyMap<string, JsonNode>, fields: DocumentedFields): Members =>
  [...members].filter(([name]) => !Object.keys(fields).includes(name))

const flatRow =
  (resource: string, fields: DocumentedFields) =>
  (node: JsonNode): Expected => {
    const members = membersOf(node)
    const cells = Object.entries(fields).map(
      ([name, field]) => [name, cellOf(field, members.get(name))] as const,
    )
    const extra = unknownIn(members, fields)
    const values = cells.filter(([name, cell]) => {
      const { values = [] } = fields[name] ?? {}
      return values.length > 0 && !values.includes(String(cell?.value))
    })
    const drift = [
      ...extra.map(([name]) => event(resource, 'unknown_field', name, null)),
      ...values.map(([name, cell]) => event(resource, 'unknown_value', name, String(cell?.value))),
    ]
    return expectedOf(resource, node, cells, { extra, drift })
  }

/** The events of members that contain a lone surrogate. */
const replacedIn = (resource: string, node: JsonNode): string[] =>
  [...membersOf(node)]
    .filter(([, value]) => print(value) !== print(value, true))
    .map(([name]) => event(resource, 'replaced_text', name, null))
    .sort()

export const event = (resource: string, kind: string, path: string, value: string | null): string =>
  JSON.stringify([resource, kind, path, value])

/** An indicator that is null or omitted is null. */
const indicator = (field: DocumentedField): DocumentedField => ({ ...field, nullable: true })
const BY_STATUS = 'interview_count_by_status'
const INDICATORS = Object.entries(FIELDWORK_PROGRESS).filter(([name]) => name !== BY_STATUS)

export const expectedProgress = (node: JsonNode): Expected => {
  const members = membersOf(node)
  const counts = members.get(BY_STATUS)
  const cells: (readonly [string, Cell])[] = INDICATORS.map(([name, field]) => [
    name,
    cellOf(indicator(field), members.get(name)),
  ])
  if (!isObjectOrNothing(counts)) cells.push([BY_STATUS, null])
  for (const status of INTERVIEW_STATUSES) {
    const entry = counts && membersOf(counts).get(status)
    if (!isObjectOrNothing(entry)) cells.push([status, null])
    for (const [name, field] of Object.entries(STATUS_ENTRY))
      cells.push([`${status}_${name}`, cellOf(indicator(field), entry && membersOf(entry).get(name))])
  }
  const undocumented = unknownCounts(counts)
  const unknown = unknownIn(members, FIELDWORK_PROGRESS)
  const paths = [...unknown.map(([name]) => name), ...undocumented.paths]
  return expectedOf('fieldwork_progress', node, cells, {
    extra:
      undocumented.extra.length === 0 ? unknown : [...unknown, [BY_STATUS, objectOf(undocumented.extra)]],
    drift: paths.map((path) => event('fieldwork_progress', 'unknown_field', path, null)),
  })
}

/** The members of the counts that the API document does not have. */
const unknownCounts = (counts: JsonNode | undefined) => {
  const paths: string[] = []
  const extra: (readonly [string, JsonNode])[] = []
  for (const [status, entry] of counts === undefined ? [] : membersOf(counts)) {
    const path = `${BY_STATUS}.${status}`
    if (!INTERVIEW_STATUSES.includes(status)) {
      paths.push(path)
      extra.push([status, entry])
      continue
    }
    const unknown = unknownIn(membersOf(entry), STATUS_ENTRY)
    paths.push(...unknown.map(([name]) => `${path}.${name}`))
    if (unknown.length > 0) extra.push([status, objectOf(unknown)])
  }
  return { paths, extra }
}

const isObjectOrNothing = (node: JsonNode | undefined): boolean =>
  node === undefined || node.kind === 'object' || (node.kind === 'word' && node.word === 'null')

const objectOf = (members: Members): JsonObject => ({
  kind: 'object',
  members: members.map(([name, value]) => [string(name), value]),
})

export const expectedSurvey = flatRow('survey', SURVEY)
export const expectedSampleSource = flatRow('sample_source', SAMPLE_SOURCE)

/** A value of the documented type, often an edge case. */
const fitting = ({ type, values }: DocumentedField): fc.Arbitrary<JsonNode> => {
  if (values !== undefined)
    return fc.oneof(
      fc.constantFrom(...values).map((value) => string(value)),
      anyString,
    )
  if (type === 'string') return anyString
  if (type === 'timestamp') return anyTime.map((time) => string(time))
  if (type === 'boolean') return fc.boolean().map(nodeOf)
  if (type === 'float') return anyNumber
  return type === 'integer' ? fc.maxSafeInteger().map(nodeOf) : fc.constant(object({}))
}

const valid = ({ type, values }: DocumentedField): JsonNode => {
  if (values?.[0] !== undefined) return string(values[0])
  if (type === 'integer') return number('7')
  if (type === 'float') return number('0.7')
  if (type === 'boolean') return nodeOf(true)
  return type === 'object' ? object({}) : string(type === 'string' ? 'seven' : '2026-03-01T00:00:00Z')
}

type Bend = (members: readonly Member[]) => readonly Member[]

/** One change in an object of these fields: a value is replaced, omitted or repeated, or a member is added. */
const bendOf = (fields: DocumentedFields): fc.Arbitrary<Bend> => {
  const field = fc.constantFrom(...Object.keys(fields))
  const value = (name: string) => fitting(fields[name] ?? { type: 'string' })
  const put =
    (name: string, node: JsonNode): Bend =>
    (members) =>
      members.map((member) => (member[0].value === name ? [member[0], node] : member))
  const fit = field.chain((name) => value(name).map((node) => put(name, node)))
  const replace = fc.tuple(field, anyNode).map(([name, node]) => put(name, node))
  const leaveOut = field.map(
    (name): Bend =>
      (members) =>
        members.filter(([one]) => one.value !== name),
  )
  const again = fc.tuple(field, fc.boolean(), fc.nat(20)).chain(([name, escaped, at]) =>
    fc.oneof(value(name), anyNode).map(
      (node): Bend =>
        (members) => {
          return [...members.slice(0, at), [string(name, escaped), node], ...members.slice(at)]
        },
    ),
  )
  const more = fc.tuple(oddName, anyNode, fc.nat(20)).map(
    ([name, node, at]): Bend =>
      (members) => [...members.slice(0, at), [name, node], ...members.slice(at)],
  )
  return fc.oneof({ weight: 6, arbitrary: fit }, { weight: 4, arbitrary: more }, again, replace, leaveOut)
}

const bent = (fields: DocumentedFields, whole: JsonObject, bendsMax: number): fc.Arbitrary<JsonObject> =>
  fc.array(bendOf(fields), { maxLength: bendsMax }).map((bends) => ({
    kind: 'object',
    members: bends.reduce((members, bend) => bend(members), whole.members),
  }))

const example = (fields: DocumentedFields): JsonObject =>
  object(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, valid(field)])))

const orAnything = (row: fc.Arbitrary<JsonNode>): fc.Arbitrary<JsonNode> =>
  fc.oneof({ weight: 12, arbitrary: row }, anyNode)

/** Rows with few different ids, so that some ids repeat. */
const withId = (row: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonNode> =>
  fc.tuple(row, fc.integer({ min: -1, max: 5 })).map(([{ members }, id]) => ({
    kind: 'object',
    members: members.map(([name, value]) =>
      name.value === 'id' && value.kind === 'number' && value.digits === '7'
        ? [name, nodeOf(id)]
        : [name, value],
    ),
  }))

export const hostileSurvey = orAnything(withId(bent(SURVEY, example(SURVEY), 4)))
export const hostileSampleSource = orAnything(withId(bent(SAMPLE_SOURCE, example(SAMPLE_SOURCE), 4)))

const STATUSES = Object.fromEntries(INTERVIEW_STATUSES.map((status) => [status, { type: 'object' } as const]))
const hostileEntry = orAnything(bent(STATUS_ENTRY, example(STATUS_ENTRY), 3))
const hostileCounts = fc
  .tuple(
    bent(
      STATUSES,
      object(Object.fromEntries(INTERVIEW_STATUSES.map((status) => [status, example(STATUS_ENTRY)]))),
      1,
    ),
    fc.constantFrom(...INTERVIEW_STATUSES),
    hostileEntry,
  )
  .map(
    ([{ members }, status, entry]): JsonNode => ({
      kind: 'object',
      members: members.map((member) => (member[0].value === status ? [member[0], entry] : member)),
    }),
  )
export const hostileProgress = orAnything(
  fc.tuple(bent(FIELDWORK_PROGRESS, example(FIELDWORK_PROGRESS), 3), orAnything(hostileCounts)).map(
    ([{ members }, counts]): JsonObject => ({
      kind: 'object',
      members: members.map((member) =>
        member[0].value === BY_STATUS && member[1].kind === 'object' && member[1].members.length === 0
          ? [member[0], counts]
          : member,
      ),
    }),
  ),
)
