/**
 * JSON as text. `JSON.parse` rounds integers past 2^53, so a quarantined row or an unknown field is cut out of the text of the answer.
 * Every function takes text that `JSON.parse` accepts. A hostile answer may nest a million levels deep, so no function recurses except
 * `canonicalJson`, which gets only rows of at most `ROW_DEPTH_MAX` levels. The library `lossless-json` recurses.
 */
import { toUSVString } from 'node:util'
import { endOfString } from '../http/redact-json.js'

/** The members of a JSON object, name to JSON text. If a name is repeated, its last value counts, as in `JSON.parse`. */
export const memberTexts = (text: string): ReadonlyMap<string, string> => {
  const members = new Map<string, string>()
  let at = skipFiller(text, skipFiller(text, 0) + 1)
  while (text[at] === '"') {
    const nameEnd = endOfString(text, at)
    const start = skipFiller(text, nameEnd)
    const end = endOfValue(text, start)
    members.set(String(JSON.parse(text.slice(at, nameEnd))), text.slice(start, end))
    at = skipFiller(text, end)
  }
  return members
}

/**
 * A name that one object has twice, as written; null without one. A reader may use either value (RFC 8259, section 4), and `JSON.parse`
 * silently drops the first. Looks `levels` levels deep.
 */
export const repeatedName = (text: string, levels: number): string | null => {
  const names: Set<string>[] = []
  let level = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === OPENING_BRACE || char === OPENING_BRACKET) names[level++]?.clear()
    else if (char === CLOSING_BRACE || char === CLOSING_BRACKET) level--
    else if (char === QUOTE) {
      const literal = text.slice(at, endOfString(text, at))
      at += literal.length - 1
      if (level > levels || !isName(text, at + 1)) continue
      names[level - 1] ??= new Set()
      const known = names[level - 1]
      const name = literal.includes('\\') ? JSON.stringify(JSON.parse(literal)) : literal
      if (known?.size === known?.add(name).size) return literal
    }
  }
  return null
}

const QUOTE = 0x22
const OPENING_BRACKET = 0x5b
const CLOSING_BRACKET = 0x5d
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d

/** Whether the string that ends before `at` is the name of a member. */
const isName = (text: string, at: number): boolean => {
  let next = at
  while (' \t\n\r'.includes(text[next] ?? 'end')) next++
  return text[next] === ':'
}

export const elementTexts = (text: string): readonly string[] => {
  const elements: string[] = []
  let at = skipFiller(text, skipFiller(text, 0) + 1)
  while (at < text.length && text[at] !== ']') {
    const end = endOfValue(text, at)
    elements.push(text.slice(at, end))
    at = skipFiller(text, end)
  }
  return elements
}

export const isObjectText = (text: string): boolean => text[skipFiller(text, 0)] === '{'

/** Joins members into the text of one JSON object, in their order. */
export const objectText = (members: Iterable<readonly [string, string]>): string =>
  `{${Array.from(members, ([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`

/**
 * The same JSON with the names of every object sorted (by UTF-16 code unit), no white space and one way to escape, so that equal values
 * give equal text. Numbers keep their digits. Recurses: bound the levels first.
 */
export const canonicalJson = (text: string): string => {
  const first = text[skipFiller(text, 0)]
  if (first === '[') return `[${elementTexts(text).map(canonicalJson).join(',')}]`
  if (first === '"') return JSON.stringify(JSON.parse(text))
  if (first !== '{') return text.trim()
  const members = [...memberTexts(text)].sort(([a], [b]) => (a < b ? -1 : 1))
  return objectText(members.map(([name, value]) => [name, canonicalJson(value)]))
}

/**
 * Replaces lone surrogates by U+FFFD. Lone surrogates are legal in JSON, as `"\ud800"`, but no UTF-8 text can hold one. DuckDB refuses them
 * in a JSON column, and replaces them in a VARCHAR column, so that a row would differ from the stored row at each reading.
 */
export const wellFormedJson = (text: string): string => {
  const wellFormed = toUSVString(text)
  if (!SURROGATE.test(wellFormed)) return wellFormed
  return wellFormed.replace(ESCAPE, (match) => (LONE_SURROGATE.test(match) ? '\\ufffd' : match))
}

const SURROGATE = /\\u[dD][89a-fA-F]/

const ESCAPE = /\\(?:u[dD][89abAB][\dA-Fa-f]{2}\\u[dD][c-fC-F][\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|.)/g
const LONE_SURROGATE = /^\\u[dD][89a-fA-F][\dA-Fa-f]{2}$/

/** Skips white space, commas and colons, which have no meaning of their own in valid JSON. */
const skipFiller = (text: string, from: number): number => {
  let at = from
  while (' \t\n\r,:'.includes(text[at] ?? 'end')) at++
  return at
}

const endOfValue = (text: string, start: number): number => {
  let at = start
  let depth = 0
  do {
    const char = text[at]
    if (char === '"') at = endOfString(text, at) - 1
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') depth--
    else if (depth === 0) return endOfWord(text, at)
    at++
  } while (depth > 0 && at < text.length)
  return at
}

/** The index after the number, `true`, `false` or `null` that begins at `start`. */
const endOfWord = (text: string, start: number): number => {
  let at = start
  while (at < text.length && !' \t\n\r,:]}'.includes(text[at] ?? '')) at++
  return at
}
