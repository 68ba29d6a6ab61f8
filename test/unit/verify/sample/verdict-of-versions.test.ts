import { expect, test } from 'vitest'
import { parseInstant } from '../../../../src/model/instant.js'
import { judgeVersion } from '../../../../src/verify/sample/verdict.js'
import { mergedSurveys } from '../../../../src/warehouse/merge/merged-tables.js'
import { survey as surveyWith } from '../../../support/warehouse/rows.js'

const at = (text: string) => parseInstant(`2026-03-${text}:00Z`) ?? 0n
const survey = surveyWith(1, { title: 'Brand tracker', updated_at: at('02T00:00') })
const stored = (cells: object = {}, missingSince: bigint | null = null) => ({
  cells: { ...survey, ...cells },
  missingSince,
})
const QUESTION = { columns: mergedSurveys.values, knownUntil: at('05T00:00'), waitsFor: null }

const [JUST_BEFORE, AT_KNOWN, AFTER] = [at('04T23:59'), at('05T00:00'), at('06T00:00')]
const missing = stored({}, at('04T00:00'))
const unread = { knownUntil: null }
const waits = { waitsFor: 'why' }

test.each<[string, ReturnType<typeof stored> | null, object, string, object?]>([
  ['an equal row', stored(), {}, 'equal'],
  ['a row that changed since', stored(), { title: 'x', updated_at: at('09T00:00') }, 'moved'],
  ['one that changed at the end of what is known', stored(), { title: 'x', updated_at: AT_KNOWN }, 'moved'],
  ['a change that the warehouse should know', stored(), { title: 'x', updated_at: JUST_BEFORE }, 'wrong'],
  ['another value with the same updated_at', stored({ title: 'x' }), {}, 'wrong'],
  ['a stored row that is newer than the other', stored({ updated_at: at('03T00:00') }), {}, 'wrong'],
  ['an unknown field that the API added', stored(), { _extra: '{"mood":1}' }, 'unclear'],
  ['a row that the warehouse never had', null, {}, 'wrong'],
  ['a row that was created since', null, { updated_at: AFTER }, 'moved'],
  ['a row that is marked as missing', missing, {}, 'unclear'],
  ['a row that was marked as missing and changed since', missing, { updated_at: AFTER }, 'moved'],
  ['a row of which nothing was read', null, {}, 'waiting', unread],
  ['a row with a newer one in quarantine', stored({ title: 'x' }), {}, 'waiting', waits],
])('%s', (_, row, service, verdict, more) => {
  const judged = judgeVersion({ ...QUESTION, stored: row, service: { ...survey, ...service }, ...more })
  expect(judged.verdict, judged.why).toBe(verdict)
})

test('the differing fields have both values', () => {
  expect(judgeVersion({ ...QUESTION, stored: stored({ title: 'by hand' }), service: survey })).toEqual({
    verdict: 'wrong',
    why: 'last changed 2026-03-02T00:00:00Z, and we know every change before 2026-03-05T00:00:00Z',
    differences: [{ field: 'title', stored: 'by hand', service: 'Brand tracker' }],
  })
})
