/** The section of a survey. The title of a curve is about the last days of its axis, whatever the days of the pace are. */
import { expect, test } from 'vitest'
import { createFormats } from '../../../../../src/publish/report/formats.js'
import { curveTitle, figuresOf } from '../../../../../src/publish/report/page/survey.js'
import { dayRow } from '../../../../../src/publish/report/queries/survey.js'

const MARCH_1 = 20_513
const formats = createFormats({ locale: 'en-GB', time_zone: 'UTC' })

/** The interviews by day of March. */
const titleOf = (counts: Readonly<Record<number, number>>) => {
  const nothing = { complete: 0, undecided: 0, rejected: 0, not_needed: 0, screened_out: 0, incomplete: 0 }
  const curve = Object.entries(counts).map(([day, interviews_count]) =>
    dayRow.parse({
      ...{ account: 'default', survey_id: 1, day: MARCH_1 - 1 + Number(day), interviews_count },
      ...{ sample_size: 100, is_reconstructed: false, ...nothing },
    }),
  )
  return curveTitle(curve, formats)
}

test.each([
  ['a week', { 1: 5, 2: 10, 3: 20, 9: 40, 10: 41 }, 'rose by 21 in the 7 days up to 10 Mar'],
  ['days before a pause', { 1: 5, 8: 20, 14: 20, 15: 20 }, null],
  ['the first days', { 1: 5, 2: 10, 4: 1_200 }, 'rose by 1,195 in the 3 days up to 4 Mar'],
  ['the second night', { 1: 5, 2: 10 }, 'rose by 5 in the day up to 2 Mar'],
  ['more failed a check than came in', { 1: 5, 8: 2 }, 'fell by 3 in the 7 days up to 8 Mar'],
])('%s', (_, counts, title) => {
  expect(titleOf(counts)).toBe(
    title === null ? 'No complete interview in the 7 days up to 15 Mar' : `Complete interviews ${title}`,
  )
})

test('one day says nothing', () => {
  expect(titleOf({ 1: 5 })).toBe('Complete interviews')
  expect(titleOf({})).toBe('Complete interviews')
})

test.each([
  ['a forecast', { interviews_count: 60 }, ['20 Mar 2026', '18 Mar to 23 Mar']],
  ['a target that is reached', { interviews_count: 100 }, ['reached', '']],
  ['no target', { sample_size: 0, expected_on: null }, ['–', 'no forecast']],
])('the figures have %s', (_, change, forecast) => {
  const survey = {
    ...{
      status: 'fieldwork',
      interviews_count: 100,
      sample_size: 100,
      pace_days: 7,
      per_day: 0,
      due_on: null,
    },
    ...{ expected_on: '2026-03-20', expected_from: '2026-03-18', expected_to: '2026-03-23' },
    ...change,
  }
  const [, ...texts] = figuresOf(survey as never, formats).find(([name]) => name === 'Forecast') ?? []
  expect(texts).toEqual(forecast)
})
