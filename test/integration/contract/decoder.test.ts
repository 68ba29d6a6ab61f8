/** The decoder reads what the tables of the API document describe. */
import { describe, expect, it } from 'vitest'
import type { Decoded } from '../../../src/survey-api/decode.js'
import { progressDecoder, sampleSourceDecoder, surveyDecoder } from '../../../src/survey-api/resources.js'
import {
  type DocumentedField,
  type DocumentedFields,
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  SAMPLE_SOURCE,
  STATUS_ENTRY,
  SURVEY,
} from '../../support/api/api-document.js'

/** A value as the API sends it, and its value in the row. */
const SENT_AND_KEPT = {
  integer: [7, 7],
  string: ['seven', 'seven'],
  timestamp: ['1970-01-01T01:00:00.000007+01:00', 7n],
  boolean: [true, true],
  float: [0.7, 0.7],
  object: [{}, {}],
} as const
/** Values of other types than the documented one. */
const OTHERS = {
  integer: [0.5, '7', true, {}],
  string: [7, false, []],
  timestamp: ['1970-01-01', 7],
  boolean: [1, 'true'],
  float: ['0.7', true],
  object: [7, [], '{}'],
}

const sentValue = ({ type, values }: DocumentedField) => values?.[0] ?? SENT_AND_KEPT[type][0]
const keptValue = ({ type, values }: DocumentedField) => values?.[0] ?? SENT_AND_KEPT[type][1]
const example = (fields: DocumentedFields): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, sentValue(field)]))
const each = (fields: DocumentedFields) => Object.entries(fields)

describe.each<[string, DocumentedFields, (text: string) => Decoded<object>]>([
  ['survey', SURVEY, surveyDecoder.fromText],
  ['sample source', SAMPLE_SOURCE, sampleSourceDecoder.fromText],
])('a documented %s', (_, fields, decode) => {
  const decodeWith = (bend: object) => decode(JSON.stringify({ ...example(fields), ...bend }))

  it('becomes a row of exactly its fields, in their order, and _extra', () => {
    const kept = each(fields).map(([name, field]) => [name, keptValue(field)])
    const decoded = decodeWith({})
    expect(decoded).toEqual({ ok: true, row: Object.fromEntries([...kept, ['_extra', null]]), drift: [] })
    expect(decoded.ok && Object.keys(decoded.row)).toEqual([...Object.keys(fields), '_extra'])
  })

  it.each(each(fields))('is quarantined when %s has another type, or none', (name, { type, nullable }) => {
    for (const other of OTHERS[type]) expect(decodeWith({ [name]: other })).toMatchObject({ ok: false })
    for (const nothing of [null, undefined])
      expect(decodeWith({ [name]: nothing }).ok).toBe(nullable === true)
  })

  it.each(each(fields).filter(([, { values }]) => values !== undefined))(
    'may have every documented %s, and any other value is drift',
    (name, { values = [] }) => {
      for (const value of values) expect(decodeWith({ [name]: value })).toMatchObject({ ok: true, drift: [] })
      expect(decodeWith({ [name]: 'undocumented' })).toMatchObject({
        row: { [name]: 'undocumented' },
        drift: [{ kind: 'unknown_value', path: name, value: 'undocumented' }],
      })
    },
  )
})

describe('a documented fieldwork progress', () => {
  const counts = Object.fromEntries(INTERVIEW_STATUSES.map((status) => [status, example(STATUS_ENTRY)]))
  const decodeWith = (bend: object) =>
    progressDecoder.fromText(
      JSON.stringify({ ...example(FIELDWORK_PROGRESS), interview_count_by_status: counts, ...bend }),
    )
  const indicators = each(FIELDWORK_PROGRESS).filter(([name]) => name !== 'interview_count_by_status')

  it('becomes a row of its indicators, two columns an interview status, and _extra', () => {
    const cells = INTERVIEW_STATUSES.flatMap((status) => [
      [`${status}_individuals`, 7],
      [`${status}_percentage`, 0.7],
    ])
    const kept = indicators.map(([name, field]) => [name, keptValue(field)])
    expect(decodeWith({})).toEqual({
      ok: true,
      row: Object.fromEntries([...kept, ...cells, ['_extra', null]]),
      drift: [],
    })
  })

  it.each(each(FIELDWORK_PROGRESS))('is quarantined when %s has another type', (name, { type }) => {
    for (const other of OTHERS[type]) expect(decodeWith({ [name]: other })).toMatchObject({ ok: false })
  })

  it.each(INTERVIEW_STATUSES)('is quarantined when a part of its entry %s has another type', (status) => {
    for (const [name, { type }] of each(STATUS_ENTRY)) {
      for (const other of OTHERS[type]) {
        const bent = { ...counts, [status]: { ...example(STATUS_ENTRY), [name]: other } }
        expect(decodeWith({ interview_count_by_status: bent })).toMatchObject({ ok: false })
      }
    }
  })
})
