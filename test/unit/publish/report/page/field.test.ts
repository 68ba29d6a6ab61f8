/** The line about past forecasts says of which targets it is, and of how many there was a range. */
import { expect, test } from 'vitest'
import { createFormats } from '../../../../../src/publish/report/formats.js'
import { accuracyText } from '../../../../../src/publish/report/page/field.js'

const formats = createFormats({ locale: 'en-GB', time_zone: 'UTC' })

test.each([
  [
    { reached: 12, ranges: 10, inside: 8, days_off: 1.5 },
    'Forecasts of two weeks before, for the 12 targets that were reached in the last 28 days: the range was right for 8 of 10, and half of the days were at most 1.5 days off.',
  ],
  [
    { reached: 1, ranges: 0, inside: 0, days_off: 1 },
    'Forecasts of two weeks before, for the 1 target that was reached in the last 28 days: half of the days were at most 1 day off.',
  ],
  [{ reached: 0, ranges: 0, inside: 0, days_off: null }, ''],
  [undefined, ''],
])('%o', (accuracy, text) => {
  expect(accuracyText(accuracy, formats)).toBe(text)
})
