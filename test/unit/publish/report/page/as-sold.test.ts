/** The figures below "As sold" are those of the plan, in words. */
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { expect, test } from 'vitest'
import { createFormats } from '../../../../../src/publish/report/formats.js'
import { AsSold } from '../../../../../src/publish/report/page/as-sold.js'
import { survey } from '../../../../../src/publish/report/queries/survey.js'

const nothing = {
  ...Object.fromEntries(Object.keys(survey.surveys.row.shape).map((name) => [name, null])),
  ...{
    account: 'default',
    survey_id: 1,
    title: 'Survey',
    status: 'fieldwork',
    _first_seen_at: 0n,
    of_surveys: 1,
  },
}

/** Each figure as one text. */
const figures = (values: object, locale = 'en-GB'): readonly string[] => {
  const formats = createFormats({ locale, time_zone: 'UTC' })
  const html = renderToString(
    h(AsSold, { survey: survey.surveys.row.parse({ ...nothing, ...values }), formats }),
  )
  return [...html.matchAll(/<div>(.*?)<\/div>/g)].map(([, figure = '']) =>
    figure
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
}

const CAME_IN = {
  target_incidence_rate: 0.312,
  recent_incidence_rate: 0.284,
  launch_incidence_rate: 0.333,
  pace_days: 7,
  length_of_interview: 840,
  interviews_count: 380,
}

test.each([
  ['nothing was sold', {}, []],
  ['incidence', { sold_incidence: 0.45 }, ['Incidence 31% sold 45%, last 7 days 28%, at launch 33%']],
  [
    'incidence after the first night',
    { sold_incidence: 0.45, recent_incidence_rate: null, launch_incidence_rate: null },
    ['Incidence 31% sold 45%'],
  ],
  [
    'incidence of one day',
    { sold_incidence: 0.45, pace_days: 1, launch_incidence_rate: null },
    ['Incidence 31% sold 45%, last 1 day 28%'],
  ],
  [
    'incidence without interviews',
    {
      sold_incidence: 0.45,
      target_incidence_rate: null,
      recent_incidence_rate: null,
      launch_incidence_rate: null,
    },
    ['Incidence – sold 45%'],
  ],
  ['length', { sold_loi_minutes: 10 }, ['Length 14 min sold 10']],
  [
    'length that is the same when rounded',
    { sold_loi_minutes: 14, length_of_interview: 842 },
    ['Length 14 min as sold'],
  ],
  [
    'length without interviews',
    { sold_loi_minutes: 12.5, length_of_interview: null },
    ['Length – sold 12.5'],
  ],
  [
    'cost',
    { cost: 1444.5, cost_at_target: 3801.2, currency: 'EUR' },
    ['Cost so far 1,445 EUR 3,801 EUR at the target'],
  ],
  ['a small cost without target', { cost: 99.5, currency: 'EUR' }, ['Cost so far 99.50 EUR']],
  ['completes', { expected_by_today: 420.2 }, ['Expected by today 421 has 380']],
  [
    'all',
    { sold_incidence: 0.3, sold_loi_minutes: 14, cost: 0, currency: 'EUR', expected_by_today: 0 },
    [
      'Incidence 31% sold 30%, last 7 days 28%, at launch 33%',
      'Length 14 min as sold',
      'Cost so far 0.00 EUR',
      'Expected by today 0 has 380',
    ],
  ],
])('%s', (_, sold, expected) => {
  expect(figures({ ...CAME_IN, ...sold })).toEqual(expected)
})

test('amounts are in the locale of the settings', () => {
  expect(figures({ cost: 1444.5, currency: 'EUR' }, 'de-DE')).toEqual(['Cost so far 1.445 EUR'])
})
