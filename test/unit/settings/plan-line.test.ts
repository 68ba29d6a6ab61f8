/** The cells of a line of the plan: what people and spreadsheets write into them. */
import { expect, test } from 'vitest'
import type { PlanLine } from '../../../src/model/tables.js'
import { planColumnsOf, planLineName, planLineOf } from '../../../src/settings/plan-line.js'
import { planLine } from '../../support/warehouse/rows.js'

const HEAD = ['survey_id', 'project_id', 'sample_source_id', 'source', 'due_on', 'starts_on', 'incidence']
  .concat(['loi_minutes', 'cpi', 'currency', 'supplier', 'owner', 'quiet_until', 'note'])
  .map((name) => name.toUpperCase().replaceAll('_', ' '))

/** What is read of a line in which these cells are not empty. */
const read = (written: Readonly<Record<string, string>>, delimiter = ',') => {
  const columns = planColumnsOf(HEAD, delimiter)
  if (!columns.ok) throw new TypeError(columns.problem)
  return planLineOf(
    { line: 7, cells: columns.value.names.map((name) => written[name] ?? '') },
    columns.value,
    ['acme'],
  )
}

/** The value of one cell in a line about a survey, or what is wrong with it. */
const cellOf = (name: keyof PlanLine, cell: string, delimiter?: string) => {
  const line = read(
    { survey_id: '1', [name]: cell, ...(name === 'cpi' ? { currency: 'EUR' } : {}) },
    delimiter,
  )
  return line.ok ? line.value[name] : line.problem
}

test.each([
  ['due_on', '2000-01-01'],
  ['starts_on', '2199-12-31'],
  ['quiet_until', '2028-02-29'],
  ['note', '=HYPERLINK("https://example.org")'],
] as const)('%s %s stays as it is', (name, cell) => {
  expect(cellOf(name, cell)).toBe(cell)
})

test.each([
  ['45%', 0.45],
  ['45 %', 0.45],
  ['45\u00a0%', 0.45],
  ['45\u202f%', 0.45],
  ['0.45', 0.45],
  ['45', 0.45],
  ['4.5%', 0.045],
  ['0.5%', 0.005],
  ['1%', 0.01],
  ['1.5', 0.015],
  ['100%', 1],
  ['100', 1],
] as const)('the incidence %s', (cell, rate) => {
  expect(cellOf('incidence', cell)).toBe(rate)
})

test.each([
  ['incidence', '45,5%', 0.455],
  ['incidence', '0,45', 0.45],
  ['loi_minutes', '12,5', 12.5],
  ['cpi', '4,50', 4.5],
  ['cpi', '4.50', 4.5],
] as const)(
  '%s %s with a decimal comma is read where semicolons separate cells, and nowhere else',
  (name, cell, value) => {
    expect(cellOf(name, cell, ';')).toBe(value)
    if (cell.includes(','))
      expect(cellOf(name, cell)).toMatch(new RegExp(`^${name} must be .*, not "${cell}"$`))
  },
)

const DAY = 'must be a day as YYYY-MM-DD'
const NUMBER = 'must be a number such as 4.50, without its currency'
const MINUTES = 'must be a number of minutes such as 12.5, above 0 and at most 1440'
const PERCENTAGE = 'must be a percentage such as 45%, or a fraction such as 0.45'
const IN_RANGE = 'must be above 0% and at most 100%'
const CODE = 'must be the three letters of a currency, such as EUR'
const MAIL = 'must be a mail address, such as fieldwork@example.com or Fieldwork <fieldwork@example.com>'

test.each([
  ['due_on', '31.12.2026', `${DAY}: write 2026-12-31`],
  ['due_on', '1.2.2026', `${DAY}: write 2026-02-01`],
  ['due_on', '12/31/2026', `${DAY}: write 2026-12-31`],
  ['due_on', '31/12/2026', `${DAY}: write 2026-12-31`],
  ['due_on', '03/04/2026', `${DAY}: write 2026-04-03 or 2026-03-04`],
  ['due_on', '4/4/2026', `${DAY}: write 2026-04-04`],
  ['due_on', '2026-3-1', `${DAY}: write 2026-03-01`],
  ['due_on', '2026/03/01', `${DAY}: write 2026-03-01`],
  ['due_on', '2026-03-12 00:00:00', `${DAY}: write 2026-03-12`],
  ['due_on', '2026-03-12T00:00:00Z', `${DAY}: write 2026-03-12`],
  ['due_on', '46387', `${DAY}: write 2026-12-31`],
  ['due_on', '99999999', `${DAY}, such as 2026-12-31`],
  ['due_on', '10000', `${DAY}, such as 2026-12-31`],
  ['due_on', '31.02.2026', `${DAY}, such as 2026-12-31`],
  ['due_on', '31.12.26', `${DAY}, such as 2026-12-31`],
  ['due_on', '20261231', `${DAY}, such as 2026-12-31`],
  ['due_on', '2026', `${DAY}, such as 2026-12-31`],
  ['due_on', 'Dec 31', `${DAY}, such as 2026-12-31`],
  ['due_on', '2026-02-29', 'must be a day of the calendar'],
  ['starts_on', '2026-13-01', 'must be a day of the calendar'],
  ['due_on', '1999-12-31', 'must be between 2000 and 2199'],
  ['quiet_until', '2200-01-01', 'must be between 2000 and 2199'],
  ['survey_id', 'x', 'must be the number of a survey'],
  ['survey_id', '0', 'must be the number of a survey'],
  ['survey_id', '-1', 'must be the number of a survey'],
  ['survey_id', '1.0', 'must be the number of a survey'],
  ['survey_id', '4,711', 'must be the number of a survey'],
  ['survey_id', '="4711"', 'must be the number of a survey'],
  ['survey_id', '9.00720E+15', 'must be the number of a survey'],
  ['survey_id', '9007199254740992', 'must be the number of a survey'],
  ['survey_id', '9223372036854775807', 'must be the number of a survey'],
  ['sample_source_id', '9007199254740992', 'must be the number of a sample source'],
  ['source', 'a*b*c*d*', 'must have at most 3 *'],
  ['incidence', '0', IN_RANGE],
  ['incidence', '0%', IN_RANGE],
  ['incidence', '-5%', IN_RANGE],
  ['incidence', '100.1%', IN_RANGE],
  ['incidence', '101', IN_RANGE],
  ['incidence', '1', 'must be written as 1% or 100%'],
  ['incidence', '1.0', 'must be written as 1% or 100%'],
  ['incidence', '45 percent', PERCENTAGE],
  ['incidence', '4e1', PERCENTAGE],
  ['incidence', '1.234,5', PERCENTAGE],
  ['incidence', '#DIV/0!', PERCENTAGE],
  ['loi_minutes', '0', MINUTES],
  ['loi_minutes', '1440.5', MINUTES],
  ['loi_minutes', '12:30', MINUTES],
  ['loi_minutes', '12 min', MINUTES],
  ['loi_minutes', '-3', MINUTES],
  ['cpi', '-1', NUMBER],
  ['cpi', '€4.50', NUMBER],
  ['cpi', '4.50 EUR', NUMBER],
  ['cpi', '1,234.50', NUMBER],
  ['cpi', '1e3', NUMBER],
  ['cpi', 'NaN', NUMBER],
  ['currency', '€', CODE],
  ['currency', 'Euro', CODE],
  ['currency', 'EÜR', CODE],
  ['owner', 'Ann', MAIL],
  ['owner', 'ann@example.com; ben@example.com', MAIL],
] as const)('%s %s is refused', (name, cell, problem) => {
  expect(cellOf(name, cell)).toBe(`${name} ${problem}, not ${JSON.stringify(cell)}`)
})

test('an owner with a name is an address', () => {
  expect(cellOf('owner', 'Ann Other <ann@example.com>')).toBe('ann@example.com')
})

test('the most specific name of a line counts, and a currency only with a cpi', () => {
  const names = { survey_id: '1', project_id: 'P', sample_source_id: '2', source: 'S*' }
  const { source: _, ...withoutPattern } = names
  const { survey_id: __, ...withoutSurvey } = names
  const value = { incidence: '45%', currency: 'USD' }
  const expected = { incidence: 0.45, line: 7 }
  expect(
    [
      names,
      withoutPattern,
      withoutSurvey,
      { survey_id: '1', project_id: 'P' },
      { project_id: 'P', source: 'S*' },
    ]
      .map((named) => read({ ...named, ...value }))
      .map((line) => (line.ok ? line.value : line)),
  ).toEqual(
    [
      { survey_id: 1, sample_source_id: 2 },
      { survey_id: 1, sample_source_id: 2 },
      { sample_source_id: 2 },
      { survey_id: 1 },
      { project_id: 'P', source: 'S*' },
    ].map((named) => planLine({ ...named, ...expected })),
  )
})

test.each([
  [{ due_on: '2026-03-12' }, 'needs a survey_id, project_id, sample_source_id or source'],
  [{ survey_id: '1' }, 'needs a value, such as due_on'],
  [{ survey_id: '1', currency: 'EUR' }, 'needs a value, such as due_on'],
  [{ survey_id: '1', cpi: '4' }, 'cpi needs a currency, such as EUR'],
  [{ survey_id: '1', supplier: 'Acme' }, 'supplier must be in a line about a source'],
  [
    { survey_id: '1', source: 'S*', due_on: '2026-03-12' },
    'due_on must be in a line about a survey or project, not a source',
  ],
  [
    { sample_source_id: '1', owner: 'ann@example.com' },
    'owner must be in a line about a survey or project, not a source',
  ],
  [
    { survey_id: '1', due_on: '2026-03-12', starts_on: '2026-03-13' },
    'starts_on must not be after due_on, which is 2026-03-12',
  ],
])('%j is refused', (written, problem) => {
  expect(read(written)).toEqual({ ok: false, problem })
})

test('what a line is about, in words', () => {
  const named = [
    { survey_id: 1 },
    { project_id: 'P "7"' },
    { sample_source_id: 2 },
    { survey_id: 1, sample_source_id: 2 },
    { source: 'S*' },
    { project_id: 'P', source: 'S*' },
  ].map((names) => planLine(names))
  expect(named.map((line) => planLineName(line, ['acme']))).toEqual([
    'survey 1',
    'project "P \\"7\\""',
    'source 2',
    'source 2 of survey 1',
    'sources "S*"',
    'sources "S*" of project "P"',
  ])
  expect(planLineName(planLine({ survey_id: 1 }), ['acme', 'globex'])).toBe('survey 1 of acme')
})
