/** Decoding a page in which ids occur twice. `survey-source-hostile` has pages with anything in them. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { pageOf } from '../../../src/survey-api/envelope.js'
import { surveyDecoder } from '../../../src/survey-api/resources.js'
import { survey } from './example-rows.js'

const LIST = { name: 'surveys', path: '/surveys', page: 1 } as const
const pagination = { current_page: 1, next_page: null, prev_page: null, total_pages: 1, total_count: 3 }

/** Each row is the example with changes. */
const page = (changes: readonly object[]) => {
  const body = { surveys: changes.map((change) => ({ ...survey, ...change })), pagination }
  const answer = { body, text: JSON.stringify(body), dateMs: 0 }
  return pageOf(answer, systemClock, LIST, surveyDecoder, (id) => ({ surveyId: id, sampleSourceId: null }))
}

describe('a page', () => {
  const twins = [
    { id: 1, title: 'newer', updated_at: '2026-03-02T00:00:00Z' },
    { id: 2 },
    { id: 1, title: 'older', updated_at: '2026-03-01T23:59:59+00:00' },
  ]

  it('has the newer of two rows with one id, and says which id is there twice', () => {
    for (const rows of [twins, twins.toReversed()]) {
      const decoded = page(rows)
      expect(decoded.rows.find(({ id }) => id === 1)?.title).toBe('newer')
      expect(decoded).toMatchObject({ repeated: [1], rejections: [] })
    }
  })

  it('keeps the row of an id whose other row cannot be typed', () => {
    const decoded = page([...twins.slice(1), { id: 1, title: 5 }])
    expect(decoded.rows.map(({ title }) => title)).toEqual(['Coffee habits 2026', 'older'])
    expect(decoded).toMatchObject({ repeated: [1], rejections: [{ rowId: 1 }] })
  })
})
