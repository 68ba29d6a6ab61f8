import { describe, expect, test } from 'vitest'
import { StoppedError, UpstreamError } from '../../../../src/base/errors.js'
import { type AccountSample, exitCodeOf, renderVerify } from '../../../../src/commands/verify/result.js'
import type { Problem } from '../../../../src/verify/local/proof.js'
import type { Compared, Verdict } from '../../../../src/verify/sample/verdict.js'

const row = (verdict: Verdict, surveyId = 1, sampleSourceId: number | null = null): Compared => ({
  table: 'surveys',
  surveyId,
  sampleSourceId,
  fields: 11,
  verdict,
  why: verdict === 'equal' ? '' : 'the reason',
  differences: verdict === 'equal' ? [] : [{ field: 'updated_at', stored: 1_000_000n, service: null }],
})

const sample = (change: Partial<AccountSample> = {}): AccountSample => ({
  account: 'acme',
  surveys: 1_200,
  chosen: 20,
  compared: 20,
  rows: [row('equal')],
  droppedFields: [],
  chanceToFindOnePercent: 0.1837,
  unread: [],
  endedBy: null,
  requests: 97,
  ...change,
})

const problem: Problem = {
  rule: 'keys_are_unique',
  state: '/data/fieldwork.duckdb',
  where: 'surveys',
  says: 'several rows have the same key',
  count: 2,
  example: 'account=acme id=1',
  advice: 'Do this',
}

const local = (problems: readonly Problem[] = []) => ({
  checks: 111,
  states: ['/data/fieldwork.duckdb'],
  problems,
  notes: [],
})

describe('the exit code', () => {
  const codeOf = (account: Partial<AccountSample> = {}, outcome: object = {}, problems: Problem[] = []) =>
    exitCodeOf(local(problems), {
      accounts: [sample(account)],
      isSampleGiven: false,
      isSignalled: false,
      ...outcome,
    })
  const short = { compared: 3 }
  const away = { ...short, endedBy: new UpstreamError('wrong_address', 'away') }
  test.each([
    ['all is well', codeOf(), 0],
    ['only the local half', exitCodeOf(local(), null), 0],
    ['the budget decided the size of the sample', codeOf(short), 0],
    ['a problem of the published state', exitCodeOf(local([problem]), null), 5],
    ['a wrong row', codeOf({ rows: [row('wrong')] }), 5],
    ['an unclear row', codeOf({ rows: [row('unclear')] }), 0],
    ['nothing was compared', codeOf({ compared: 0 }), 3],
    ['fewer than --sample', codeOf(short, { isSampleGiven: true }), 3],
    ['a signal', codeOf(short, { isSignalled: true }), 3],
    ['a refused survey', codeOf({ unread: [{ surveyId: 1, problem: 'no' }] }), 3],
    ['a service that is away', codeOf(away), 4],
    ['a problem and a service that is away', codeOf(away, {}, [problem]), 4],
  ])('%s: %d of %d', (_, code, expected) => {
    expect(code).toBe(expected)
  })
})

test('the report of a sample says what it proves', () => {
  const report = { exitCode: 0, local: local(), sample: { seed: 'c82b', accounts: [sample()] } } as const
  expect(renderVerify(report, 3_000)).toBe(`/data/fieldwork.duckdb: 111 checks, nothing wrong

account  requests  rows  fields  equal  moved  waiting  unclear  wrong
acme           97     1      11      1      0        0        0      0
acme: 20 of 1,200 surveys compared (1.67 %). If 12 of them were wrong, a sample of this size would find one with a chance of 18.4 %

took 3 s; --seed c82b chooses the same surveys until the next sync
verified: nothing wrong.
`)
})

test('wrong and unclear rows are listed with their fields, and a long list is cut', () => {
  const rows = [...Array.from({ length: 15 }, (_, id) => row('wrong', id, 7)), row('unclear')]
  const text = renderVerify(
    { exitCode: 5, local: local([problem]), sample: { seed: 's', accounts: [sample({ rows })] } },
    0,
  )
  expect(text).toContain(
    '  WRONG  surveys: several rows have the same key: 2, such as account=acme id=1\n  Do this.\n',
  )
  expect(text).toContain(`WRONG
  acme survey 0 source 7, surveys: the reason
    updated_at: 1970-01-01T00:00:01Z in the warehouse, null by the service
`)
  expect(text).toContain('\n  and 10 more; --json has all\n')
  expect(text).toContain('cannot be decided\n  acme survey 1, surveys: the reason\n')
  expect(text.endsWith('wrong (exit 5): 1 problem in the published state and 15 rows of the sample.\n')).toBe(
    true,
  )
})

test('a sample that ended early says why', () => {
  const accounts = [
    sample({ compared: 0, rows: [], endedBy: new StoppedError('stopped by --max-requests 3') }),
    sample({ account: 'globex', surveys: 0, chosen: 0, compared: 0, rows: [] }),
  ]
  const text = renderVerify({ exitCode: 3, local: local(), sample: { seed: 's', accounts } }, 0)
  expect(text).toContain(
    'acme: no survey was compared (stopped by --max-requests 3)\nglobex: no survey was read yet\n',
  )
  expect(text.endsWith('not verified completely (exit 3): nothing wrong so far.\n')).toBe(true)
})

test('wrong rows of several accounts are read again by one command each', () => {
  const rows = [row('wrong'), { ...row('wrong', 7), table: 'survey_progress' as const }]
  const accounts = [sample({ rows }), sample({ account: 'globex', rows })]
  const text = renderVerify({ exitCode: 5, local: local(), sample: { seed: 's', accounts } }, 0)
  expect(text.split('\n').filter((line) => line.includes('read again by'))).toEqual([
    'rows of surveys are read again by: fieldwork-sync sync --full',
    'sources and progress are read again by: fieldwork-sync sync --surveys acme/7,globex/7',
  ])
})
