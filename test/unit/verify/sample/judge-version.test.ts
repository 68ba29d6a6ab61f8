import { expect, test } from 'vitest'
import { parseInstant } from '../../../../src/model/instant.js'
import { judgeVersion } from '../../../../src/verify/sample/judge-version.js'
import { mergedSurveys } from '../../../../src/warehouse/merge/merged-tables.js'

const at = (text: string) => parseInstant(`2026-03-${text}:00Z`) ?? 0n
const survey = {
  id: 1,
  title: 'Brand tracker',
  created_at: at('01T00:00'),
  updated_at: at('02T00:00'),
  hashid: 'h',
  project_id: null,
  status: 'fieldwork',
  owner_organization_id: 1,
  transition_style: 'single_page',
  respondent_questions_count: 1,
  respondent_iterations_count: 1,
  _extra: null,
}
const stored = (cells: object = {}, missingSince: bigint | null = null) => ({
  cells: { ...survey, ...cells },
  missingSince,
})

const cases = [
  { what: 'an equal row', stored: stored(), service: {}, verdict: 'equal' },
  {
    what: 'a row that changed since',
    stored: stored(),
    service: { title: 'x', updated_at: at('09T00:00') },
    verdict: 'moved',
  },
  {
    what: 'a row that changed in the moment up to which changes are known',
    stored: stored(),
    service: { title: 'x', updated_at: at('05T00:00') },
    verdict: 'moved',
  },
  {
    what: 'a change that the warehouse should know',
    stored: stored(),
    service: { title: 'x', updated_at: at('04T23:59') },
    verdict: 'wrong',
  },
  {
    what: 'another value with the same updated_at',
    stored: stored({ title: 'x' }),
    service: {},
    verdict: 'wrong',
  },
  {
    what: 'a stored row that is newer than that of the service',
    stored: stored({ updated_at: at('03T00:00') }),
    service: {},
    verdict: 'wrong',
  },
  {
    what: 'an unknown field that the API added',
    stored: stored(),
    service: { _extra: '{"mood":1}' },
    verdict: 'unclear',
  },
  { what: 'a row that the warehouse never had', stored: null, service: {}, verdict: 'wrong' },
  {
    what: 'a row that was created since',
    stored: null,
    service: { updated_at: at('06T00:00') },
    verdict: 'moved',
  },
  {
    what: 'a row that is marked as missing',
    stored: stored({}, at('04T00:00')),
    service: {},
    verdict: 'unclear',
  },
  {
    what: 'a row that was marked as missing and changed since',
    stored: stored({}, at('04T00:00')),
    service: { updated_at: at('06T00:00') },
    verdict: 'moved',
  },
  {
    what: 'a row of which nothing was read',
    stored: null,
    service: {},
    knownUntil: null,
    verdict: 'waiting',
  },
  {
    what: 'a row with a newer one in quarantine',
    stored: stored({ title: 'x' }),
    service: {},
    waitsFor: 'why',
    verdict: 'waiting',
  },
] as const

test.each(cases)('$what: $verdict', ({ stored: row, service, verdict, ...more }) => {
  const judged = judgeVersion({
    columns: mergedSurveys.values,
    stored: row,
    service: { ...survey, ...service },
    knownUntil: at('05T00:00'),
    waitsFor: null,
    ...more,
  })
  expect(judged.verdict, judged.why).toBe(verdict)
})

test('the differing fields have both values', () => {
  const judged = judgeVersion({
    columns: mergedSurveys.values,
    stored: stored({ title: 'by hand' }),
    service: survey,
    knownUntil: at('05T00:00'),
    waitsFor: null,
  })
  expect(judged).toEqual({
    verdict: 'wrong',
    why: 'last changed 2026-03-02T00:00:00Z, and we know every change before 2026-03-05T00:00:00Z',
    differences: [{ field: 'title', stored: 'by hand', service: 'Brand tracker' }],
  })
})
