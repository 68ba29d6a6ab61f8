/** Decoding rules that all resources have in common: types, quarantine, `_extra`, drift, strings. */
import { describe, expect, it } from 'vitest'
import { type Decoded, ROW_DEPTH_MAX } from '../../../src/survey-api/decode.js'
import { progressDecoder, sampleSourceDecoder, surveyDecoder } from '../../../src/survey-api/resources.js'
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

  const COUNTS = 'interview_count_by_status'
  const NUMBER = 'a finite number'
  it.each([
    ['a rate as a string', '{"completion_rate":"0.25"}', 'completion_rate', NUMBER, '"0.25"'],
    ['a rate that is not finite', '{"drop_out_rate":1e999}', 'drop_out_rate', NUMBER, '1e999'],
    ['a fraction of a second', '{"length_of_interview":41.5}', 'length_of_interview', INTEGER, '41.5'],
    ['counts as an array', `{"${COUNTS}":[]}`, COUNTS, 'an object', '[]'],
    ['an entry as a number', `{"${COUNTS}":{"complete":5}}`, `${COUNTS}.complete`, 'an object', '5'],
    [
      ...['a count as a boolean', `{"${COUNTS}":{"speeder":{"individuals":true}}}`],
      ...[`${COUNTS}.speeder.individuals`, INTEGER, 'true'],
    ],
  ])('is of progress and has %s', (_, raw, path, expected, got) => {
    const problem = `${path}: expected ${expected}, got ${got}`
    expect(progressDecoder.fromText(raw)).toMatchObject({ ok: false, problem, raw })
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
})

describe('unknown fields', () => {
  it('go to _extra as JSON with sorted keys at every depth and the exact digits of numbers', () => {
    const text = surveyWith('zeta', '{"b":[{"y":1,"x":9007199254740993}],"a":1.10}')
    expect(rowOf(surveyDecoder.fromText(text.replace('"title"', '"alpha":null,"title"')))._extra).toBe(
      '{"alpha":null,"zeta":{"a":1.10,"b":[{"x":9007199254740993,"y":1}]}}',
    )
  })
})

it('-0 becomes 0, so that both compare equal', () => {
  const row = rowOf(progressDecoder.fromText('{"sample_size":-0,"drop_out_rate":-0.0}'))
  expect(Object.is(row.sample_size, 0) && Object.is(row.drop_out_rate, 0)).toBe(true)
})
