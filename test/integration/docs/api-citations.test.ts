/** Every section of the API document that code cites, and every section of a rule, is a heading of docs/reference/api.md. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { OBSERVATIONS } from '../../../src/conformance/observations.js'
import { RULES } from '../../../src/conformance/run.js'
import {
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  PAGINATION,
  SAMPLE_SOURCE,
  SURVEY,
} from '../../support/api/api-document.js'
import { RULES as CONTRACT } from '../contract/api-rules.js'

const root = new URL('../../../', import.meta.url).pathname
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

test('every section of a conformance rule, an observation and a contract test is a heading of the page', () => {
  const sections = [...[...RULES, ...OBSERVATIONS].map(({ section }) => section), ...Object.keys(CONTRACT)]
  expect(sections.filter((section) => !HEADINGS.has(section))).toEqual([])
})

const tableOf = (heading: string): string => page.split(`\n### ${heading}\n`)[1]?.split('\n#')[0] ?? ''

test.each([
  ['Survey', SURVEY],
  ['Sample source', SAMPLE_SOURCE],
  ['Fieldwork progress', FIELDWORK_PROGRESS],
  ['Pagination object', PAGINATION],
])('the page lists the fields of "%s" in the order of the document', (heading, fields) => {
  const listed = [...tableOf(heading).matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name]) => name)
  expect(listed).toEqual(Object.keys(fields))
})

test('the page lists every status', () => {
  const statuses = [...tableOf('Survey status').matchAll(/^\| `([a-z_]+)` \|/gm)].filter(
    ([, name]) => name !== 'status',
  )
  expect(statuses.map(([, name]) => name)).toEqual(SURVEY.status?.values)
  expect([...tableOf('Interview status').matchAll(/`([a-z_]+)`/g)].map(([, name]) => name)).toEqual([
    'interview_count_by_status',
    ...INTERVIEW_STATUSES,
  ])
})
