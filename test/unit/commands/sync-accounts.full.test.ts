/** A run reads several accounts side by side. Each has its own cursor, limiter and failures. */
import { describe, expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import { gate } from '../../support/command/trial.js'
import { type AccountsTrial, openAccounts } from './accounts-trial.js'
import { answerAll, surveys } from './sync-accounts-shared.js'

test('a run reads accounts at the same time and reports them in their order', async (context) => {
  const trial = await openAccounts(context, { a: surveys(1), b: surveys(1), c: surveys(1) })
  const all = gate<boolean>()
  const listing = new Set<string>()
  for (const name of ['a', 'b', 'c']) {
    trial.api(name).hook = ({ path }) => {
      if (path !== '/surveys') return false
      listing.add(name)
      if (listing.size === 3) all.open(false)
      return all.opened
    }
  }
  const report = await trial.sync()
  expect(report).toMatchObject({ exitCode: 0, status: 'complete' })
  // A page, a list, two readings of progress, and ten days before the first reading.
  expect(report.accounts.map(({ account, requests }) => [account, requests])).toEqual([
    ['a', 14],
    ['b', 14],
    ['c', 14],
  ])
  expect(new Set(report.accounts.map(({ runId }) => runId)).size).toBe(1)
})

test('a survey id that occurs in two accounts means two surveys', async (context) => {
  const trial = await openAccounts(context, { a: surveys(3, 'of a'), b: surveys(3, 'of b') })
  for (const survey of trial.api('b').surveys) survey.progress = { ...survey.progress, interviews_count: 77 }
  await trial.sync()
  const stored = () =>
    trial.query(
      `SELECT s.account, s.id, s.title, p.interviews_count, (SELECT count(*) FROM sample_sources c WHERE c.account = s.account AND c.survey_id = s.id) AS sources
        FROM surveys s JOIN survey_progress p ON p.account = s.account AND p.survey_id = s.id ORDER BY ALL`,
    )
  const expected = ['a', 'b'].flatMap((account) =>
    [1, 2, 3].map((id) => ({
      account,
      id: String(id),
      title: `of ${account}`,
      interviews_count: account === 'b' ? '77' : expect.not.stringMatching(/^77$/),
      sources: '1',
    })),
  )
  const asText = (rows: readonly object[]) =>
    rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, String(cell)])))
  expect(asText(await stored())).toEqual(expected)
  // A change or a missing survey of one account does not affect the other.
  trial.api('a').surveys.splice(0, 1)
  const first = trial.api('b').surveys[0]
  if (first === undefined) throw new Error('no survey')
  first.survey = { ...first.survey, title: 'changed', updated_at: '2026-03-01T00:00:00Z' }
  await trial.sync({ flags: { full: true } })
  expect(
    await trial.query(
      'SELECT account, id::INTEGER AS id, title, _missing_since IS NOT NULL AS missing FROM surveys WHERE id < 3 ORDER BY ALL',
    ),
  ).toEqual([
    { account: 'a', id: 1, title: 'of a', missing: true },
    { account: 'a', id: 2, title: 'of a', missing: false },
    { account: 'b', id: 1, title: 'changed', missing: false },
    { account: 'b', id: 2, title: 'of b', missing: false },
  ])
  expect(
    await trial.query(
      `SELECT account, id::INTEGER AS id, count(*)::INTEGER AS versions FROM surveys_history GROUP BY ALL HAVING count(*) > 1`,
    ),
  ).toEqual([{ account: 'b', id: 1, versions: 2 }])
})

describe('--max-requests', () => {
  const total = (trial: AccountsTrial, ...names: readonly string[]) =>
    names.reduce((sum, name) => sum + trial.api(name).arrivals.length, 0)

  test('gives unused requests to other accounts, also of a refused account', async (context) => {
    const trial = await openAccounts(context, { a: surveys(12), b: surveys(1), c: surveys(1) })
    answerAll(trial, 'c', 401)
    const report = await trial.sync({ flags: { 'max-requests': 43 } })
    expect(report.accounts.map(({ status }) => status)).toEqual(['complete', 'complete', 'failed'])
    expect(total(trial, 'a', 'b', 'c')).toBe(37 + 4 + 2)
  })
})

test('a signal stops all accounts, and the run publishes what they have read', async (context) => {
  const trial = await openAccounts(context, { a: surveys(2), b: surveys(2) })
  const stop = new AbortController()
  const hanging = new Set<string>()
  for (const name of ['a', 'b']) {
    trial.api(name).hook = ({ path }) => {
      if (path !== '/surveys/1/fieldwork_progress') return false
      hanging.add(name)
      if (hanging.size === 2) stop.abort(new StoppedError('stopped by SIGTERM'))
      return gate<boolean>().opened
    }
  }
  const report = await trial.sync({ given: { signal: stop.signal } })
  expect(report.accounts.map(({ status, reason }) => [status, reason])).toEqual([
    ['partial', 'stopped by SIGTERM'],
    ['partial', 'stopped by SIGTERM'],
  ])
  expect(
    await trial.query('SELECT account, count(*)::INTEGER AS surveys FROM surveys GROUP BY ALL ORDER BY ALL'),
  ).toEqual([
    { account: 'a', surveys: 2 },
    { account: 'b', surveys: 2 },
  ])
})
