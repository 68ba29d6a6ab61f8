/**
 * JSON as a tree of the written text. Unlike a JavaScript value it keeps repeated names, digits and escapes, as a hostile
 * answer has them. The oracles of decoding read these trees and never the text.
 */
import { toUSVString } from 'node:util'
import fc from 'fast-check'
import { anyText } from './any-text.js'

export type JsonNode =
  | { readonly kind: 'word'; readonly word: 'true' | 'false' | 'null' }
  | { readonly kind: 'number'; readonly digits: string }
  | JsonString
  | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
  | JsonObject

interface JsonString {
  readonly kind: 'string'
  readonly value: string
  /** Whether every character is written as `\uXXXX`. */
  readonly escaped: boolean
}

export interface JsonObject {
  readonly kind: 'object'
  readonly members: readonly Member[]
}

export type Member = readonly [name: JsonString, value: JsonNode]

export const string = (value: string, escaped = false): JsonString => ({ kind: 'string', value, escaped })
export const number = (digits: string): JsonNode => ({ kind: 'number', digits })
const NULL: JsonNode = { kind: 'word', word: 'null' }
export const object = (members: Readonly<Record<string, JsonNode>>): JsonObject => ({
  kind: 'object',
  members: Object.entries(members).map(([name, value]) => [string(name), value]),
})

export const nodeOf = (value: unknown): JsonNode => {
  if (typeof value === 'string') return string(value)
  if (typeof value === 'number') return number(JSON.stringify(value))
  if (typeof value === 'boolean') return { kind: 'word', word: value ? 'true' : 'false' }
  if (Array.isArray(value)) return { kind: 'array', items: value.map(nodeOf) }
  if (typeof value !== 'object' || value === null) return NULL
  return object(Object.fromEntries(Object.entries(value).map(([name, one]) => [name, nodeOf(one)])))
}

/** Prints a tree. `wellFormed` writes U+FFFD for a lone surrogate, as the quarantine must. */
export const print = (node: JsonNode, wellFormed = false): string => {
  switch (node.kind) {
    case 'word':
      return node.word
    case 'number':
      return node.digits
    case 'string':
      return printString(node, wellFormed)
    case 'array':
      return `[${node.items.map((item) => print(item, wellFormed)).join(' , ')}]`
    case 'object':
      return `{${node.members.map(([name, value]) => `${print(name, wellFormed)} :${print(value, wellFormed)}`).join(',')}}`
  }
}

const printString = ({ value, escaped }: JsonString, wellFormed: boolean): string => {
  const pieces = Array.from(value, (char) => {
    const isLone = /^[\ud800-\udfff]$/.test(char)
    if (isLone && wellFormed) return '\\ufffd'
    return escaped || isLone ? unitsOf(char) : JSON.stringify(char).slice(1, -1)
  })
  return `"${pieces.join('')}"`
}

const unitsOf = (char: string): string =>
  Array.from(
    { length: char.length },
    (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')

/** How deep arrays and objects nest. */
export const depthOf = (node: JsonNode): number => {
  if (node.kind === 'array') return 1 + Math.max(0, ...node.items.map(depthOf))
  return node.kind === 'object' ? 1 + Math.max(0, ...node.members.map(([, value]) => depthOf(value))) : 0
}

/** The members by well-formed name, in order of first occurrence. The last value of a repeated name counts. */
export const membersOf = (node: JsonNode): Map<string, JsonNode> =>
  new Map(
    node.kind === 'object'
      ? node.members.map(([name, value]) => [toUSVString(name.value), value] as const)
      : [],
  )

export const repeatsName = (node: JsonNode): boolean => {
  if (node.kind === 'array') return node.items.some(repeatsName)
  if (node.kind !== 'object') return false
  const names = new Set(node.members.map(([{ value }]) => value))
  return names.size < node.members.length || node.members.some(([, value]) => repeatsName(value))
}

/** The same value without the values that a later one of the same name overwrites. */
export const withoutOverwritten = (node: JsonNode): JsonNode => {
  if (node.kind === 'array') return { ...node, items: node.items.map(withoutOverwritten) }
  if (node.kind !== 'object') return node
  return object(
    Object.fromEntries([...membersOf(node)].map(([name, value]) => [name, withoutOverwritten(value)])),
  )
}

/** One text for one value: names sorted, no white space, one way to escape. Lone surrogates are replaced. */
export const canonical = (node: JsonNode): string => {
  if (node.kind === 'string') return JSON.stringify(toUSVString(node.value))
  if (node.kind === 'array') return `[${node.items.map(canonical).join(',')}]`
  if (node.kind !== 'object') return print(node)
  const names = [...membersOf(node)].sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${names.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`).join(',')}}`
}

/** Texts that have broken readers of JSON before. */
const oddText = fc.oneof(
  anyText({ maxLength: 12 }),
  fc.constantFrom('', '\0', 'a\udfffb', '\ud83d\ude00', '\\', '\\u0041', '\u2028', '\ufeff', '],"'),
  fc.constantFrom('true', 'null', '12', '1e3', '__proto__', '[object Object]', 'draft', 'panel'),
  fc
    .array(fc.constantFrom('\ud800', '\udc00', 'a', '\\', '"', '\ufffd'), { maxLength: 6 })
    .map((units) => units.join('')),
)
export const anyString: fc.Arbitrary<JsonString> = fc.oneof(
  { weight: 20, arbitrary: fc.tuple(oddText, fc.boolean()).map((args) => string(...args)) },
  { weight: 1, arbitrary: fc.constant(string('long '.repeat(4_000))) },
)

/** Around the limits of doubles and safe integers. Other numbers are drawn. */
const oddNumber = fc.constantFrom(
  ...['-0.0', '1e400', '-1e-400', '9007199254740991', '9007199254740993', '1.0', '12E+2', '5e-324'],
  ...['1.7976931348623157e308', '1.7976931348623159e308', '0.30000000000000004', '1e21'],
)
export const anyNumber: fc.Arbitrary<JsonNode> = fc.oneof(
  oddNumber.map(number),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => number(JSON.stringify(value))),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map((value) => number(String(value))),
)

const anyWord: fc.Arbitrary<JsonNode> = fc
  .constantFrom('true', 'false', 'null')
  .map((word) => ({ kind: 'word', word }) as const)

/** Names that have a special meaning in JavaScript or in our tables. */
export const oddName: fc.Arbitrary<JsonString> = fc.oneof(
  anyString,
  fc
    .constantFrom('__proto__', 'constructor', 'hasOwnProperty', 'length', '_extra', 'ID', 'id ', 'account')
    .map((name) => string(name)),
)

const nested = (depth: number, array: boolean): JsonNode => {
  let node: JsonNode = number('1')
  for (let level = 0; level < depth; level += 1)
    node = array ? { kind: 'array', items: [node] } : object({ a: node })
  return node
}

/** Any JSON value, including values that nest deeper than a row may. */
export const anyNode: fc.Arbitrary<JsonNode> = fc.letrec<{ node: JsonNode }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 3, arbitrary: anyWord },
    { weight: 3, arbitrary: anyNumber },
    { weight: 3, arbitrary: anyString },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.integer({ min: 55, max: 70 }), fc.boolean()).map(([d, a]) => nested(d, a)),
    },
    {
      weight: 2,
      arbitrary: fc.array(tie('node'), { maxLength: 3 }).map((items) => ({ kind: 'array', items }) as const),
    },
    {
      weight: 2,
      arbitrary: fc
        .array(fc.tuple(oddName, tie('node')), { maxLength: 3 })
        .map((members) => ({ kind: 'object', members }) as const),
    },
  ),
})).node
