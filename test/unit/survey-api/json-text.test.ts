/** Cutting JSON text into pieces, compared with JSON.parse: the pieces parse to the same values. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  canonicalJson,
  elementTexts,
  memberTexts,
  objectText,
  repeatedName,
  wellFormedJson,
} from '../../../src/survey-api/json-text.js'
import { anyCodePoint, anyText } from '../../support/hostile/any-text.js'
import { anyNode, print, repeatsName } from '../../support/hostile/json-node.js'
import { property } from '../../support/suite/cases.js'

/** Any JSON value, printed with and without white space. */
const jsonText = (value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(value, fc.constantFrom(undefined, 1, '\t', '\n \r'))
    .map(([one, indent]) => JSON.stringify(one, null, indent))
const anyValue = fc.jsonValue({ stringUnit: anyCodePoint, maxDepth: 4 })
const isSorted = (text: string): boolean => {
  if (text.startsWith('[')) return elementTexts(text).every(isSorted)
  if (!text.startsWith('{')) return true
  const names = [...memberTexts(text).keys()]
  return names.join() === [...names].sort().join() && [...memberTexts(text).values()].every(isSorted)
}

describe('cutting JSON text', () => {
  property(
    'gives the elements of every array as JSON.parse reads them',
    [jsonText(fc.array(anyValue))],
    {},
    (text) => {
      expect(elementTexts(text).map((element) => JSON.parse(element))).toEqual(JSON.parse(text))
    },
  )

  property(
    'gives the members of every object as JSON.parse reads them',
    [jsonText(fc.dictionary(anyText(), anyValue))],
    {},
    (text) => {
      const parsed: unknown = JSON.parse(text)
      const members = Array.from(memberTexts(text), ([name, value]) => [name, JSON.parse(value)])
      expect(new Map(members as [string, unknown][])).toEqual(new Map(Object.entries(parsed as object)))
    },
  )

  it.each([
    ['digits above 2^53', '[9007199254740993,1e400,-0,1.0]', ['9007199254740993', '1e400', '-0', '1.0']],
    ['white space inside', '[ { "a" : [ 1 , 2 ] } ,\n"x" ]', ['{ "a" : [ 1 , 2 ] }', '"x"']],
    ['brackets and quotes in strings', '["]","\\"[",{"}":"{"}]', ['"]"', '"\\"["', '{"}":"{"}']],
    ['escaped backslashes', '["\\\\","\\\\\\""]', ['"\\\\"', '"\\\\\\""']],
    ['true, false and null', '[true,false,null]', ['true', 'false', 'null']],
    ['an empty array', ' [ ] ', []],
  ])('keeps the exact text of elements: %s', (_, text, elements) => {
    expect(elementTexts(text)).toEqual(elements)
  })

  it('gives the last of two members with the same name, even if a name is written with escapes', () => {
    expect(memberTexts('{"a":1,"b":2,"\\u0061":3}')).toEqual(
      new Map([
        ['a', '3'],
        ['b', '2'],
      ]),
    )
  })

  it('treats __proto__ as a name like any other', () => {
    expect(memberTexts('{"__proto__":{"id":1}}').get('__proto__')).toBe('{"id":1}')
  })

  it('handles text with a million levels of nesting', () => {
    const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000)
    expect(elementTexts(`[${deep},1]`)[1]).toBe('1')
  })

  property('terminates on truncated text', [jsonText(anyValue), fc.nat()], {}, (text, cut) => {
    const truncated = text.slice(0, cut % (text.length + 1))
    expect(elementTexts(truncated).length).toBeLessThanOrEqual(truncated.length)
  })
})

describe('canonical JSON', () => {
  property('parses to the value of the original text', [jsonText(anyValue)], {}, (text) => {
    expect(JSON.parse(canonicalJson(text))).toEqual(JSON.parse(text))
  })

  property('has sorted names in every object, at every depth', [jsonText(anyValue)], {}, (text) => {
    expect(isSorted(canonicalJson(text))).toBe(true)
    expect(canonicalJson(canonicalJson(text))).toBe(canonicalJson(text))
  })

  it('is the same text for any order, white space and escapes of the same value', () => {
    expect(canonicalJson('{ "b" : [ {"y":1, "x":2} ], "a" : "\\u0041\\/" }')).toBe(
      canonicalJson('{"a":"A/","b":[{"x":2,"y":1}]}'),
    )
  })

  it('keeps the digits of numbers', () => {
    expect(canonicalJson('{"b":9007199254740993,"a":[1.10,1e400]}')).toBe(
      '{"a":[1.10,1e400],"b":9007199254740993}',
    )
  })

  it('can be joined from members', () => {
    expect(
      objectText([
        ['a"b', '1'],
        ['c', '[ ]'],
      ]),
    ).toBe('{"a\\"b":1,"c":[ ]}')
    expect(objectText([])).toBe('{}')
  })
})

describe('making JSON well-formed', () => {
  it.each([
    ['a lone high surrogate', '"\\ud800"', '"\\ufffd"'],
    ['a lone low surrogate, in capitals', '"\\uDFFF"', '"\\ufffd"'],
    ['two high surrogates, the second of a pair', '"\\ud800\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"'],
    ['two surrogates in the wrong order', '"\\ude00\\ud83d"', '"\\ufffd\\ufffd"'],
    ['a lone surrogate without escapes', '"\ud800"', '"\ufffd"'],
  ])('replaces %s', (_, text, expected) => {
    expect(wellFormedJson(text)).toBe(expected)
  })

  it.each([
    ['a surrogate pair', '"\\ud83d\\ude00"'],
    ['a character outside the Basic Multilingual Plane', '"😀"'],
    ['an escaped backslash before u', '"\\\\ud800"'],
    ['NUL', '"\\u0000"'],
    ['digits', '9007199254740993'],
  ])('keeps %s', (_, text) => {
    expect(wellFormedJson(text)).toBe(text)
  })

  property(
    'replaces every lone surrogate in any JSON',
    [fc.array(fc.integer({ min: 0xd700, max: 0xe000 }))],
    {},
    (units) => {
      const escaped = units.map((unit) => `\\u${unit.toString(16)}`).join('')
      const read = String(JSON.parse(wellFormedJson(`"${escaped}"`)))
      expect(read).toBe(Buffer.from(String.fromCharCode(...units), 'utf8').toString('utf8'))
    },
  )
})

describe('a repeated name', () => {
  property('is found in any JSON that holds one, and in no other', [anyNode], { numRuns: 1_000 }, (node) => {
    expect(repeatedName(print(node), 100) !== null).toBe(repeatsName(node))
  })

  it('is looked for in so many levels only, also in text with a million', () => {
    const deep = (inner: string) => `${'{"a":['.repeat(1_000_000)}${inner}${']}'.repeat(1_000_000)}`
    expect(repeatedName(deep('{"b":1,"b":2}'), 66)).toBeNull()
    expect(repeatedName(`{"x":${deep('')},"x":1}`, 66)).toBe('"x"')
    expect(repeatedName('[[{"b":1,"b":2}]]', 3)).toBe('"b"')
    expect(repeatedName('[[{"b":1,"b":2}]]', 2)).toBeNull()
  })
})
