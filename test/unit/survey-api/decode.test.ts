/** Decoding rules that all resources have in common: types, quarantine, `_extra`, drift, strings. */
import { describe, expect, it } from 'vitest'
import {
  type Decoded,
  progressDecoder,
  ROW_DEPTH_MAX,
  sampleSourceDecoder,
  surveyDecoder,
} from '../../../src/survey-api/decode.js'
import { sampleSource, survey, without } from './example-rows.js'

/** The text of the example survey with one field replaced by raw JSON text. */
const surveyWith = (name: string, json: string) =>
  JSON.stringify({ ...survey, [name]: '<value>' }).replace('"<value>"', json)
const problemOf = (decoded: Decoded<unknown>) => (decoded.ok ? 'none' : decoded.problem)
const rowOf = <Row>(decoded: Decoded<Row>): Row => {
  if (!decoded.ok) throw new Error(decoded.problem)
  return decoded.row
}

describe('a row in quarantine', () => {
  const INTEGER = 'an integer of at most 2^53 - 1'
  const TIME = 'an ISO 8601 date-time with an offset'
  it.each([
    ['a string for an integer', 'id', '"12"', INTEGER],
    ['a fraction for an integer', 'id', '1.5', INTEGER],
    ['a boolean for an integer', 'id', 'true', INTEGER],
    ['null for an integer', 'id', 'null', INTEGER],
    ['an integer above 2^53 - 1, with all digits', 'owner_organization_id', '9007199254740993', INTEGER],
    ['a number for a string', 'title', '5', 'a string'],
    ['null for a string', 'title', 'null', 'a string'],
    ['an array for a string', 'status', '["draft"]', 'a string'],
    ['a number for a nullable string', 'project_id', '7', 'a string'],
    ['a time without offset', 'created_at', '"2026-03-01T00:00:00"', TIME],
    ['a time in epoch seconds', 'updated_at', '1772323200', TIME],
  ])('has %s', (_, name, json, expected) => {
    const problem = `${name}: expected ${expected}, got ${json}`
    expect(surveyDecoder.fromText(surveyWith(name, json))).toMatchObject({ ok: false, problem })
  })

  it('has a missing field', () => {
    expect(problemOf(surveyDecoder.fromText(JSON.stringify(without(survey, 'hashid'))))).toBe(
      'hashid: is missing',
    )
  })

  it('has a number for a boolean', () => {
    expect(
      problemOf(sampleSourceDecoder.fromText(JSON.stringify({ ...sampleSource, panelist_id_required: 1 }))),
    ).toBe('panelist_id_required: expected true or false, got 1')
  })

  it.each(['null', '5', '"survey"', 'true', '[]'])('has %s for an object', (json) => {
    const problem = `expected an object, got ${json}`
    expect(surveyDecoder.fromText(json)).toEqual({ ok: false, id: null, problem, raw: json, drift: [] })
    expect(sampleSourceDecoder.fromText(json).ok).toBe(false)
    expect(progressDecoder.fromText(json).ok).toBe(false)
  })

  it('names its first three problems and counts the others', () => {
    expect(problemOf(surveyDecoder.fromText('{"id":1}'))).toBe(
      'title: is missing; created_at: is missing; updated_at: is missing; and 6 more',
    )
  })

  it('quotes only the beginning of a long value, on one line', () => {
    const problem = problemOf(surveyDecoder.fromText(surveyWith('title', `[\n${'1,\n'.repeat(500)}1]`)))
    expect(problem).toMatch(/^title: expected a string, got \[ 1, 1, .*…$/)
    expect(problem.length).toBeLessThan(100)
  })

  it('quotes a value without control characters, and does not split an emoji', () => {
    expect(problemOf(surveyDecoder.fromText(surveyWith('title', '["\u009b2J\u2028\u202e"]')))).toBe(
      'title: expected a string, got [" 2J "]',
    )
    const problem = problemOf(surveyDecoder.fromText(surveyWith('title', `["${'😀'.repeat(60)}"]`)))
    expect(problem).toBe(Buffer.from(problem).toString())
  })

  it('keeps its exact text', () => {
    const raw = '{ "id" : 9007199254740993, "rate": 1.10 , "title":"\\u0041" }'
    expect(surveyDecoder.fromText(raw)).toMatchObject({ ok: false, id: null, raw })
  })

  it('has its id if the id can be read', () => {
    expect(surveyDecoder.fromText('{"id":7}')).toMatchObject({ ok: false, id: 7 })
    expect(surveyDecoder.fromText('{"id":"7"}')).toMatchObject({ ok: false, id: null })
  })

  it('has no lone surrogates in its text, because a JSON column cannot hold them', () => {
    expect(surveyDecoder.fromText('{"title":"\\ud800"}')).toMatchObject({ raw: '{"title":"\\ufffd"}' })
  })

  it('has more levels of nesting than later readers can follow', () => {
    const nested = (levels: number) => surveyWith('more', '['.repeat(levels) + ']'.repeat(levels))
    expect(surveyDecoder.fromText(nested(ROW_DEPTH_MAX - 1)).ok).toBe(true)
    expect(problemOf(surveyDecoder.fromText(nested(ROW_DEPTH_MAX)))).toBe(
      `nested deeper than ${ROW_DEPTH_MAX} levels`,
    )
    expect(surveyDecoder.fromText(nested(1_000_000)).ok).toBe(false)
    const objects = (levels: number) => surveyWith('more', `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
    expect(surveyDecoder.fromText(objects(ROW_DEPTH_MAX - 1)).ok).toBe(true)
    expect(surveyDecoder.fromText(objects(ROW_DEPTH_MAX)).ok).toBe(false)
    expect(surveyDecoder.fromText(surveyWith('more', JSON.stringify('['.repeat(1_000)))).ok).toBe(true)
  })

  it('has no levels of a value that a later one of its name overwrites', () => {
    const overwritten = `{"title":${'['.repeat(ROW_DEPTH_MAX)}${']'.repeat(ROW_DEPTH_MAX)},`
    for (const row of [JSON.stringify(survey), surveyWith('more', '1')])
      expect(surveyDecoder.fromText(row.replace('{', overwritten)).ok).toBe(true)
  })

  it('can be decoded from its raw text by a later version', () => {
    const rejected = surveyDecoder.fromText(surveyWith('id', '"12"'))
    const repaired = rejected.ok ? '' : rejected.raw.replace('"12"', '12')
    expect(rowOf(surveyDecoder.fromText(repaired)).id).toBe(12)
  })
})

describe('unknown fields', () => {
  it('go to _extra as JSON with sorted keys at every depth and the exact digits of numbers', () => {
    const text = surveyWith('zeta', '{"b":[{"y":1,"x":9007199254740993}],"a":1.10}')
    expect(rowOf(surveyDecoder.fromText(text.replace('"title"', '"alpha":null,"title"')))._extra).toBe(
      '{"alpha":null,"zeta":{"a":1.10,"b":[{"x":9007199254740993,"y":1}]}}',
    )
  })

  it('are reported as drift, one event per field', () => {
    expect(
      sampleSourceDecoder.fromText(JSON.stringify({ ...sampleSource, quota: 1, _extra: 2 })),
    ).toMatchObject({
      row: { _extra: '{"_extra":2,"quota":1}' },
      drift: [
        { resource: 'sample_source', kind: 'unknown_field', path: 'quota', value: null },
        { resource: 'sample_source', kind: 'unknown_field', path: '_extra', value: null },
      ],
    })
  })

  it('may be called __proto__, and change nothing else', () => {
    const row = rowOf(surveyDecoder.fromText(surveyWith('x', '1').replace('"x"', '"__proto__"')))
    expect(row).toMatchObject({ id: 12, _extra: '{"__proto__":1}' })
    expect(rowOf(progressDecoder.fromText('{"__proto__":{"sample_size":5}}')).sample_size).toBeNull()
  })

  it('leave _extra null if there are none', () => {
    expect(surveyDecoder.fromText(JSON.stringify(survey))).toMatchObject({ row: { _extra: null }, drift: [] })
  })

  it('with the same name count once, with the last value', () => {
    const text = surveyWith('x', '1').replace('"title"', '"x":0,"title"')
    expect(rowOf(surveyDecoder.fromText(text))._extra).toBe('{"x":1}')
  })
})

describe('unknown values of an enumeration', () => {
  it('are stored unchanged and reported as drift', () => {
    const row = { status: 'archived', transition_style: 'carousel' }
    expect(surveyDecoder.fromText(JSON.stringify({ ...survey, ...row }))).toMatchObject({
      row,
      drift: [
        { resource: 'survey', kind: 'unknown_value', path: 'status', value: 'archived' },
        { resource: 'survey', kind: 'unknown_value', path: 'transition_style', value: 'carousel' },
      ],
    })
  })

  it('are stored and reported for a provider too', () => {
    expect(
      sampleSourceDecoder.fromText(JSON.stringify({ ...sampleSource, provider: 'river' })),
    ).toMatchObject({
      row: { provider: 'river' },
      drift: [{ resource: 'sample_source', kind: 'unknown_value', path: 'provider', value: 'river' }],
    })
  })
})

describe('decoded values stay the same when they are stored and read again', () => {
  it('lone surrogates become U+FFFD, and NUL and all other characters stay', () => {
    const title = (json: string) => rowOf(surveyDecoder.fromText(surveyWith('title', json))).title
    expect(title('"a\\ud800b"')).toBe('a\ufffdb')
    expect(title('"a\\u0000b"')).toBe('a\0b')
    expect(title('"\\ud83d\\ude00"')).toBe('😀')
  })

  it('unknown enum values and names of unknown fields are well-formed in drift too', () => {
    const text = surveyWith('status', '"\\ud800"').replace('"title"', '"\\udfff":1,"title"')
    expect(surveyDecoder.fromText(text)).toMatchObject({
      row: { status: '\ufffd', _extra: '{"\ufffd":1}' },
      drift: [
        { kind: 'unknown_field', path: '\ufffd' },
        { kind: 'unknown_value', path: 'status', value: '\ufffd' },
        { kind: 'replaced_text', path: 'status', value: null },
      ],
    })
  })

  it('-0 becomes 0', () => {
    const row = rowOf(progressDecoder.fromText('{"sample_size":-0,"drop_out_rate":-0.0}'))
    expect(Object.is(row.sample_size, 0) && Object.is(row.drop_out_rate, 0)).toBe(true)
  })

  it('an integer may be written with an exponent or a fraction of zero', () => {
    expect(rowOf(surveyDecoder.fromText(surveyWith('id', '1.2e1'))).id).toBe(12)
    expect(rowOf(surveyDecoder.fromText(surveyWith('id', '12.0'))).id).toBe(12)
    expect(rowOf(surveyDecoder.fromText(surveyWith('id', '9007199254740991'))).id).toBe(9007199254740991)
  })
})
