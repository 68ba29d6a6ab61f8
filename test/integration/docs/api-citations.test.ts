/** Every section of the API document that code cites, and every section of a rule, is a heading of docs/reference/api.md. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { OBSERVATIONS } from '../../../src/conformance/observations.js'
import { RULES } from '../../../src/conformance/run.js'
import {
  INTERVIEW_STATUSES as MODEL_STATUSES,
  PROGRESS_FIELDS,
  SAMPLE_SOURCE_FIELDS,
  SURVEY_FIELDS,
} from '../../../src/model/fields.js'
import {
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  PAGINATION,
  SAMPLE_SOURCE,
  SURVEY,
} from '../../support/api/api-document.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const page = readFileSync(`${root}docs/reference/api.md`, 'utf8')
const HEADINGS = new Set([...page.matchAll(/^#{2,3} (.+)$/gm)].map(([, heading]) => heading))

const FILES = ['src', 'test'].flatMap((folder) =>
  readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .map((file) => `${folder}/${file}`),
)

/** The sections that a file cites: `API document, "Errors"`, `API document ("Errors" and "Limits")`, also across lines of a comment. */
const sectionsIn = (file: string): readonly string[] => {
  const text = readFileSync(`${root}${file}`, 'utf8').replace(/\n\s*(?:\*(?!\/)|\/\/)?\s*/g, ' ')
  return [...text.matchAll(/API document,? ?\(?((?:(?:, | and | or )?"[^"$]+")+)/g)].flatMap(
    ([, sections = '']) => [...sections.matchAll(/"([^"]+)"/g)].map(([, section = '']) => section),
  )
}

test('every section that src and test cite is a heading of the page', () => {
  const cited = FILES.flatMap((file) => sectionsIn(file).map((section) => ({ file, section })))
  expect(cited.filter(({ section }) => !HEADINGS.has(section))).toEqual([])
  expect(cited.length).toBeGreaterThan(80)
  expect(new Set(cited.map(({ section }) => section)).size).toBeGreaterThan(12)
})

test('every section of a conformance rule and an observation is a heading of the page', () => {
  const sections = [...RULES, ...OBSERVATIONS].map(({ section }) => section)
  expect(sections.filter((section) => !HEADINGS.has(section))).toEqual([])
})

test.each([
  ['a survey', SURVEY, SURVEY_FIELDS],
  ['a sample source', SAMPLE_SOURCE, SAMPLE_SOURCE_FIELDS],
])('the page lists the fields of %s in the order of the columns, with their values', (_, page, columns) => {
  const { _extra, ...fields } = columns
  expect(Object.entries(page).map(([name, { values }]) => [name, values])).toEqual(
    Object.entries(fields).map(([name, field]) => [name, 'values' in field ? field.values : undefined]),
  )
})

test('the page lists the fields of progress, of its statuses and of a pagination', () => {
  const indicators = Object.keys(PROGRESS_FIELDS).filter(
    (name) => !/^_extra$|_(individuals|percentage)$/.test(name),
  )
  const listed = Object.keys(FIELDWORK_PROGRESS).filter((name) => name !== 'interview_count_by_status')
  expect(listed).toEqual(indicators)
  expect(INTERVIEW_STATUSES).toEqual(MODEL_STATUSES)
  expect(Object.keys(PAGINATION)).toHaveLength(5)
})
