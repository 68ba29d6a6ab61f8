/**
 * Any JSON in any place of a row becomes either a typed row with the values of the JSON, or the JSON itself in quarantine.
 */
import { toUSVString } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Drift } from '../../../src/model/survey-source.js'
import { type Decoded, decodeAnswerRow, type RowDecoder } from '../../../src/survey-api/decode.js'
import { wellFormedJson } from '../../../src/survey-api/json-text.js'
import { progressDecoder, sampleSourceDecoder, surveyDecoder } from '../../../src/survey-api/resources.js'
import {
  type Expected,
  event,
  expectedProgress,
  expectedSampleSource,
  expectedSurvey,
  hostileProgress,
  hostileSampleSource,
  hostileSurvey,
} from '../../support/hostile/hostile-rows.js'
import { type JsonNode, print } from '../../support/hostile/json-node.js'
import { cases, property } from '../../support/suite/cases.js'

const driftEvents = (drift: readonly Drift[]): string[] =>
  drift.map(({ resource, kind, path, value }) => event(resource, kind, path, value)).sort()

const PROBLEM_LENGTH_MAX = 600

const holds = (decoded: Decoded<object>, expected: Expected): void => {
  expect(driftEvents(decoded.drift)).toEqual(expected.drift)
  if (decoded.ok) {
    expect(decoded.row).toEqual(expected.row)
    // `toEqual` treats `-0` and `0` as equal in one direction only. A key column must have one zero.
    for (const cell of Object.values(decoded.row)) expect(Object.is(cell, -0)).toBe(false)
    return
  }
  expect({ row: null, id: decoded.id, raw: decoded.raw }).toEqual({
    row: expected.row,
    id: expected.id,
    raw: expected.raw,
  })
  expect(decoded.problem).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]+$/u)
  expect(decoded.problem.length).toBeLessThan(PROBLEM_LENGTH_MAX)
  expect(decoded.problem).toBe(toUSVString(decoded.problem))
}

const resources: readonly (readonly [
  name: string,
  rows: fc.Arbitrary<JsonNode>,
  decoder: RowDecoder<object>,
  expected: (node: JsonNode) => Expected,
])[] = [
  ['survey', hostileSurvey, surveyDecoder, expectedSurvey],
  ['sample source', hostileSampleSource, sampleSourceDecoder, expectedSampleSource],
  ['fieldwork progress', hostileProgress, progressDecoder, expectedProgress],
]

describe.each(resources)('a hostile %s', (_, rows, decoder, expected) => {
  property(
    'becomes a row with the values of the JSON, or the JSON in quarantine',
    [rows],
    cases(40),
    (node) => {
      const text = print(node)
      holds(decoder.fromText(text), expected(node))
      const value = wellFormedJson(text) === text ? JSON.parse(text) : undefined
      holds(decodeAnswerRow(decoder, { value, text: () => text }), expected(node))
    },
  )

  test('is drawn often enough as a typed row, as a rejected row and with drift', () => {
    const sample = fc.sample(rows, { numRuns: 200, seed: 20_260_301 }).map((node) => expected(node))
    const typed = sample.filter(({ row }) => row !== null)
    expect(typed.length).toBeGreaterThan(40)
    expect(sample.length - typed.length).toBeGreaterThan(40)
    expect(typed.filter(({ drift }) => drift.length > 0).length).toBeGreaterThan(20)
  })
})
