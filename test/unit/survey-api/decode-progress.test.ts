/** Decoding progress: indicators may be missing, and counts by status become columns. */
import { describe, expect, it } from 'vitest'
import { progressDecoder } from '../../../src/survey-api/decode.js'
import { progress, without } from './example-rows.js'

const decode = (value: unknown) => progressDecoder.fromText(JSON.stringify(value))
const INTEGER = 'an integer of at most 2^53 - 1'
const COUNTS = 'interview_count_by_status'
const countsText = (counts: string) => `{"${COUNTS}":${counts}}`
const withCounts = (counts: unknown) => decode({ ...progress, interview_count_by_status: counts })

describe('fieldwork progress', () => {
  it('spreads the counts by status over two columns each', () => {
    expect(decode(progress)).toMatchObject({
      ok: true,
      row: {
        sample_size: 400,
        interviews_count: 100,
        completion_rate: 0.25,
        length_of_interview: 412,
        complete_individuals: 100,
        complete_percentage: 62.5,
        screen_out_individuals: 30,
        screen_out_percentage: 18.75,
        inappropriate_language_individuals: 0,
        inappropriate_language_percentage: 0,
        _extra: null,
      },
      drift: [],
    })
  })

  const indicators = Object.keys(without(progress, 'interview_count_by_status'))

  it.each(indicators)('has null for %s when the API sends null or omits it', (name) => {
    expect(decode({ ...progress, [name]: null })).toMatchObject({ row: { [name]: null }, drift: [] })
    expect(decode(without(progress, name))).toMatchObject({ row: { [name]: null }, drift: [] })
  })

  it('may be empty', () => {
    const decoded = decode({})
    expect(decoded).toMatchObject({ ok: true, drift: [] })
    expect(decoded.ok && new Set(Object.values(decoded.row))).toEqual(new Set([null]))
  })

  it.each([
    ['null', null],
    ['an object without entries', {}],
  ])('has no counts when they are %s', (_, counts) => {
    expect(withCounts(counts)).toMatchObject({
      row: { sample_size: 400, complete_individuals: null, speeder_percentage: null },
      drift: [],
    })
  })

  it('has null for an entry, or a part of one, that is null or missing', () => {
    const more = { speeder: { individuals: 3 }, screen_out: { percentage: null } }
    const counts = { complete: null, incomplete: {}, ...more }
    expect(withCounts(counts)).toMatchObject({
      row: {
        complete_individuals: null,
        incomplete_percentage: null,
        speeder_individuals: 3,
        speeder_percentage: null,
        screen_out_individuals: null,
        screen_out_percentage: null,
        quota_full_individuals: null,
      },
      drift: [],
    })
  })

  it('keeps an unknown status in _extra, under its path', () => {
    expect(
      withCounts({ ignored: { percentage: 1.5, individuals: 2 }, complete: { individuals: 1 } }),
    ).toMatchObject({
      row: {
        complete_individuals: 1,
        _extra: '{"interview_count_by_status":{"ignored":{"individuals":2,"percentage":1.5}}}',
      },
      drift: [
        { resource: 'fieldwork_progress', kind: 'unknown_field', path: `${COUNTS}.ignored`, value: null },
      ],
    })
  })

  it('keeps an unknown field of an entry in _extra, beside unknown indicators', () => {
    const counts = { complete: { individuals: 1, percentage: 100, weighted: 1.25 }, x: 'odd' }
    expect(decode({ interview_count_by_status: counts, margin_of_error: 3 })).toMatchObject({
      row: {
        complete_individuals: 1,
        _extra: '{"interview_count_by_status":{"complete":{"weighted":1.25},"x":"odd"},"margin_of_error":3}',
      },
      drift: [
        { path: 'margin_of_error' },
        { path: 'interview_count_by_status.complete.weighted' },
        { path: 'interview_count_by_status.x' },
      ],
    })
  })

  it.each([
    ['a rate as a string', '{"completion_rate":"0.25"}', 'completion_rate', 'a finite number', '"0.25"'],
    [
      'a rate that is not a finite number',
      '{"drop_out_rate":1e999}',
      'drop_out_rate',
      'a finite number',
      '1e999',
    ],
    ['a fraction of a second', '{"length_of_interview":41.5}', 'length_of_interview', INTEGER, '41.5'],
    ['counts as an array', countsText('[]'), COUNTS, 'an object', '[]'],
    ['an entry as a number', countsText('{"complete":5}'), `${COUNTS}.complete`, 'an object', '5'],
    [
      ...['a count as a boolean', countsText('{"speeder":{"individuals":true}}')],
      ...[`${COUNTS}.speeder.individuals`, INTEGER, 'true'],
    ],
  ])('is quarantined for %s', (_, raw, path, expected, got) => {
    const problem = `${path}: expected ${expected}, got ${got}`
    expect(progressDecoder.fromText(raw)).toMatchObject({ ok: false, problem, raw })
  })
})
