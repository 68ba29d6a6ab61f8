/** A run reads several accounts side by side. Each has its own cursor, limiter and failures. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ledgerFileName } from '../../../src/http/rate-limit/ledger.js'
import { gate } from '../../support/command/trial.js'
import { type AccountsTrial, openAccounts } from './accounts-trial.js'
import { answerAll, surveys } from './sync-accounts-shared.js'

test('three failing accounts leave the fourth complete, and the run reports the worst failure', async (context) => {
  const trial = await openAccounts(context, {
    refused: surveys(2),
    disconnected: surveys(2),
    paused: surveys(2),
    working: surveys(4),
  })
  answerAll(trial, 'refused', 401)
  trial.api('disconnected').hook = (_, response) => {
    response.destroy()
    return true
  }
  answerAll(trial, 'paused', 429)
  const report = await trial.sync({
    settings: { limits: { attempts: 2, patience: '0s', backoff_base: '1ms', backoff_max: '1ms' } },
    accounts: { paused: { rate_limit: { requests: 10, per: '100ms' } } },
  })
  expect(report).toMatchObject({ exitCode: 4, status: 'failed' })
  expect(
    report.accounts.map(({ account, exitCode, surveysRefreshed }) => [account, exitCode, surveysRefreshed]),
  ).toEqual([
    ['refused', 4, 0],
    ['disconnected', 4, 0],
    ['paused', 4, 0],
    ['working', 0, 4],
  ])
  expect(await trial.query('SELECT account, status FROM _sync.runs ORDER BY account')).toEqual([
    { account: 'disconnected', status: 'failed' },
    { account: 'paused', status: 'failed' },
    { account: 'refused', status: 'failed' },
    { account: 'working', status: 'complete' },
  ])
  const linesWithoutAccount = trial.lines.filter(
    ({ fields, message }) => !('account' in fields) && message !== 'publishing',
  )
  expect(linesWithoutAccount).toEqual([])
})

test('--accounts reads the named accounts only; the others keep cursor, queue and rows and stay published', async (context) => {
  const trial = await openAccounts(context, { a: surveys(1), b: surveys(2), c: surveys(1) })
  await trial.sync({ flags: { accounts: 'b', 'max-requests': 4 } })
  const stateOfB = () =>
    trial.query(
      `SELECT (SELECT to_json(list(c ORDER BY account)) FROM _sync.cursors c WHERE account = 'b') AS cursors,
        (SELECT to_json(list(t ORDER BY survey_id)) FROM _sync.tasks t WHERE account = 'b') AS tasks,
        (SELECT to_json(list(s ORDER BY id)) FROM surveys s WHERE account = 'b') AS surveys,
        (SELECT to_json(list(f ORDER BY survey_id)) FROM freshness f WHERE account = 'b') AS freshness`,
    )
  const before = await stateOfB()
  const arrivalsBefore = trial.api('b').arrivals.length
  for (const survey of trial.api('b').surveys) survey.survey = { ...survey.survey, title: 'later' }
  const report = await trial.sync({ flags: { accounts: 'c,a' } })
  expect(report.accounts.map(({ account, status }) => [account, status])).toEqual([
    ['a', 'complete'],
    ['c', 'complete'],
  ])
  expect(await stateOfB()).toEqual(before)
  expect(trial.api('b').arrivals).toHaveLength(arrivalsBefore)
})

test('a failure of the warehouse stops the other accounts, which record the cause, and ends the command with its own error', async (context) => {
  const trial = await openAccounts(context, { a: surveys(1), b: surveys(1) })
  // The ledger of account a cannot be written because a directory has its name.
  const ledger = join(trial.warehouse, ledgerFileName({ baseUrl: trial.api('a').baseUrl, id: 1 }))
  await mkdir(join(ledger, 'in the way'), { recursive: true })
  trial.api('b').hook = () => gate<boolean>().opened
  await expect(trial.sync()).rejects.toMatchObject({ exitCode: 7 })
  expect(
    await trial.query(
      `SELECT account, status, reason FROM _sync.runs WHERE status <> 'complete' ORDER BY account`,
      'work.duckdb',
    ),
  ).toEqual([
    {
      account: 'b',
      status: 'partial',
      reason: expect.stringMatching(/^stopped by the run of account a, which ended with: .*ledger/),
    },
  ])
  expect(trial.lines.filter(({ level }) => level === 'error')).toEqual([
    {
      level: 'error',
      fields: expect.objectContaining({ account: 'a' }),
      message: expect.stringContaining('the other accounts are stopped'),
    },
  ])
})

describe('--max-requests', () => {
  const total = (trial: AccountsTrial, ...names: readonly string[]) =>
    names.reduce((sum, name) => sum + trial.api(name).arrivals.length, 0)

  test('limits the requests of the whole run, and uses nearly all of them', async (context) => {
    // A page of the listing and three requests a survey: 37 an account.
    const trial = await openAccounts(context, { a: surveys(12), b: surveys(12) })
    const report = await trial.sync({ flags: { 'max-requests': 24 } })
    expect(total(trial, 'a', 'b')).toBeLessThanOrEqual(24)
    expect(total(trial, 'a', 'b')).toBeGreaterThan(24 - 3)
    expect(report.accounts.map(({ reason }) => reason)).toEqual(Array(2).fill('stopped by --max-requests 24'))
  })

  test('is exceeded by the first page of each account and one request about a survey', async (context) => {
    const trial = await openAccounts(context, { a: surveys(2), b: surveys(2) })
    const report = await trial.sync({ flags: { 'max-requests': 1 } })
    expect(report.accounts.map(({ status, requests }) => [status, requests])).toEqual([
      ['partial', 2],
      ['partial', 2],
    ])
  })
})
