/** The forecast of a chart says no more than the forecast of its survey. */
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { expect, test } from 'vitest'
import { CompletesChart } from '../../../../../src/publish/report/charts/completes.js'
import { createFormats } from '../../../../../src/publish/report/formats.js'
import { dayRow, survey } from '../../../../../src/publish/report/queries/survey.js'

const known = {
  account: 'default',
  survey_id: 1,
  title: 'Survey',
  status: 'fieldwork',
  interviews_count: 40,
  sample_size: 100,
  _first_seen_at: 0n,
  of_surveys: 1,
}
const row = (shape: object, values: object) => ({
  ...Object.fromEntries(Object.keys(shape).map((name) => [name, null])),
  ...known,
  ...values,
})
const bands = { complete: 1, undecided: 0, rejected: 0, not_needed: 0, screened_out: 0, incomplete: 0 }

const chart = (expected: object, reconstructed: readonly number[] = []): string =>
  renderToString(
    h(CompletesChart, {
      survey: survey.surveys.row.parse(row(survey.surveys.row.shape, expected)),
      days: [...reconstructed, 33, 40].map((interviews_count, place) => {
        const [day, is_reconstructed] = [20_512 + place, place < reconstructed.length]
        return dayRow.parse(row(dayRow.shape, { ...bands, interviews_count, day, is_reconstructed }))
      }),
      formats: createFormats({ locale: 'en-GB', time_zone: 'UTC' }),
    }),
  )
const pathOf = (html: string, name: string) => new RegExp(`class="${name}" d="([^"]*)"`).exec(html)?.[1]

test('the range is open to the right if it has no last day', () => {
  const html = chart({ expected_on: '2026-03-10', expected_from: '2026-03-07', expected_to: null })
  expect(pathOf(html, 'cone')).toBe('M1-40L7-100H15V-40z')
  expect(pathOf(html, 'forecast')).toBe('M1-40L10-100')
})

test('a forecast whose range is not known has none', () => {
  const html = chart({ expected_on: '2026-03-10', expected_from: null, expected_to: null })
  expect(pathOf(html, 'cone')).toBeUndefined()
  expect(pathOf(html, 'forecast')).toBe('M1-40L10-100')
})

test('the straight line begins before the first day in fieldwork, and reaches the target on the due date', () => {
  // The curve begins on 28 February, a day after the line.
  const planned = { opened_on: '2026-02-28', due_on: '2026-03-10', expected_by_today: 18 }
  const html = chart(planned)
  expect(pathOf(html, 'plan')).toBe('M-1 0L10-100')
  expect(html).toContain('straight to the due date')
  for (const unknown of Object.keys(planned))
    expect(chart({ ...planned, [unknown]: null })).not.toMatch(/class="plan"|straight/)
})

test('reconstructed days are a line of their own up to the first observed day, and the legend says so', () => {
  const html = chart({}, [20, 26])
  expect(pathOf(html, 'reconstructed')).toBe('M0-20l1-6 1-7')
  expect(pathOf(html, 'line')).toBe('M2-33l1-7')
  expect(html).toContain('reconstructed from today’s statuses')
  expect(chart({})).not.toContain('reconstructed')
})
