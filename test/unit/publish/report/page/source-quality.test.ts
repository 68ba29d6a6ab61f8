/** The table below "Quality of the sources" has the columns of which something is known. */
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { expect, test } from 'vitest'
import { createFormats } from '../../../../../src/publish/report/formats.js'
import { SourceQuality } from '../../../../../src/publish/report/page/source-quality.js'
import { survey } from '../../../../../src/publish/report/queries/survey.js'

const nothing = {
  ...Object.fromEntries(Object.keys(survey.quality.row.shape).map((name) => [name, null])),
  ...{ account: 'default', survey_id: 1, sample_source_id: 11, name: 'Panel' },
}

const cellsOf = (...rows: readonly object[]): readonly (readonly string[])[] => {
  const formats = createFormats({ locale: 'en-GB', time_zone: 'UTC' })
  const parsed = rows.map((row) => survey.quality.row.parse({ ...nothing, ...row }))
  const html = renderToString(h(SourceQuality, { rows: parsed, formats }))
  return [...html.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, cell = '']) => cell.replaceAll(/<[^>]*>/g, '')),
  )
}

const KNOWN = { rejected_rate: 0.124, undecided: 5, quota_full_rate: 0, loi_minutes: 9 }

test('each source has its figures, with as many digits as the others', () => {
  expect(
    cellsOf(
      { ...KNOWN, cost_per_good: 4.5, currency: 'EUR' },
      { ...KNOWN, loi_minutes: 12.5, cost_per_good: 12, currency: 'EUR' },
    ),
  ).toEqual([
    ['Source', 'Rejected', 'Undecided', 'Quota full', 'Minutes', 'Cost of a good one'],
    ['Panel', '12%', '5', '0%', '9.0', '4.50 EUR'],
    ['Panel', '12%', '5', '0%', '12.5', '12.00 EUR'],
  ])
})

test('a source without a name says so', () => {
  expect(cellsOf({ ...KNOWN, name: '' })[1]?.[0]).toBe('(no name)')
})

test('a column is left out if no source has a value, and the table if it has no column', () => {
  expect(cellsOf(KNOWN, { undecided: 0 })).toEqual([
    ['Source', 'Rejected', 'Undecided', 'Quota full', 'Minutes'],
    ['Panel', '12%', '5', '0%', '9.0'],
    ['Panel', '–', '0', '–', '–'],
  ])
  expect(cellsOf({})).toEqual([])
  expect(cellsOf()).toEqual([])
})
