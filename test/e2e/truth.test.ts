/** After a sync the tables equal the truth of the reference server, field by field, on the first day and a day later. */
import { expect, test } from 'vitest'
import { accountsOf, startWorld } from '../support/api/reference-api.js'
import { NO_ACCOUNT } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { openWorld, type SurveyRows, truthRows, warehouseRows } from '../support/oracle/truth.js'
import { howMany } from '../support/suite/cases.js'
import type { Row } from '../support/warehouse/duckdb.js'

const SURVEYS = howMany(14, 200)
const DAY_MS = 24 * 3_600_000

test('the tables of two accounts equal the truth field by field, and again after a day', async (context) => {
  const trial = await openTrial(context)
  await using server = await startWorld({ seed: 7, surveys: SURVEYS, accounts: 2, pageSize: 50 })
  const world = openWorld(server)
  const args = await trial.settings(accountsOf(server))
  const { published } = trial

  const first = await trial.sync(args, NO_ACCOUNT)
  expect(first).toMatchObject({ code: 0, signal: null })
  expect(first.report.accounts.map(({ listing }) => listing)).toEqual(['full', 'full'])
  const then = await truthRows(server)
  expect(then.size).toBe(2 * SURVEYS)
  expect(await warehouseRows(published)).toEqual(then)
  await trial.expectSound()
  expect(
    [...then.values()].some(({ progress }) => Number(progress.speeder_individuals) > 0),
    'the world has interviews of the rarer statuses',
  ).toBe(true)

  await world.advance('P1D')
  await world.forgetRequests()
  const planned = await plannedRequests(trial, args)
  expect(await world.requests()).toEqual([])
  const second = await trial.sync(args, NO_ACCOUNT)
  expect(second).toMatchObject({ code: 0, signal: null })
  expect(second.report.accounts.map(({ listing }) => listing)).toEqual(['incremental', 'incremental'])

  expect(
    second.report.accounts.map(({ account, requests_estimated: requests }) => ({ account, requests })),
  ).toEqual(planned)
  expect(await recordedRequests(trial)).toEqual(
    [first, second].map(({ report }) => report.accounts.map(({ requests }) => requests).toSorted(ascending)),
  )

  const now = await truthRows(server)
  const stored = await warehouseRows(published)
  const refreshed = await refreshedSince(trial, '2026-03-02T00:00:00Z')
  expect([...stored.keys()]).toEqual([...now.keys()])
  for (const [key, rows] of stored) {
    // The listing shows every survey. Sources and progress are from the last refresh.
    expect(rows.survey).toEqual(now.get(key)?.survey)
    const known = (refreshed.has(key) ? now : then).get(key)
    expect(rows, key).toEqual({ ...known, survey: rows.survey })
    if (!refreshed.has(key)) expect(mayBeSkipped(rows), `${key} was not refreshed`).toBe(true)
  }
  expect(refreshed.size).toBeGreaterThan(10)
  expect(refreshed.size).toBeLessThan(now.size)
  await trial.expectSound()
  expect(await gaps(trial)).toEqual([])
  expect(historyGrew(await versionCounts(trial))).toBe(true)

  const listings = (await world.requests()).filter(({ path }) => path === '/api/v1/surveys')
  expect(listings.length).toBeGreaterThanOrEqual(2)
  for (const { query } of listings) {
    expect(new URLSearchParams(String(query)).get('updated_since')).toBe('2026-02-28T23:55:00Z')
    expect(new URLSearchParams(String(query)).has('status')).toBe(false)
  }
})

/** The requests that `plan` expects of the next run. */
const plannedRequests = async (trial: Trial, args: readonly string[]) => {
  const ended = await trial.runWarm(['plan', '--json', ...args], NO_ACCOUNT)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const { accounts }: { accounts: { account: string; requests: number }[] } = JSON.parse(ended.stdout)
  return accounts.map(({ account, requests }) => ({ account, requests }))
}

const ascending = (one: number, other: number): number => one - other

/** The requests of each run and account in the records of request usage. */
const recordedRequests = async (trial: Trial): Promise<number[][]> => {
  const rows = await trial.rows(
    `SELECT run_id, sum(made)::INTEGER AS made FROM _sync.requests GROUP BY run_id, account ORDER BY run_id, account`,
  )
  const runs = [...new Set(rows.map(({ run_id }) => run_id))]
  return runs.map((id) =>
    rows.flatMap(({ run_id, made }) => (run_id === id ? [Number(made)] : [])).toSorted(ascending),
  )
}

/**
 * Whether the second run may skip a survey: drafts, demos, and complete surveys that had not changed for two and a quarter days at their
 * first reading. A survey settles after a day without change. After that it is skipped for as long as it has been settled, less six hours.
 */
const mayBeSkipped = ({ survey }: SurveyRows): boolean => {
  const settledMs = Date.parse('2026-03-01T00:00:00Z') - 2.25 * DAY_MS
  if (survey.status === 'complete') return Number(survey.updated_at) / 1000 <= settledMs
  return survey.status === 'draft' || survey.status === 'user_demo'
}

const refreshedSince = async (trial: Trial, since: string): Promise<ReadonlySet<string>> => {
  const rows = await trial.rows(
    `SELECT account || '/' || survey_id AS key FROM freshness WHERE refreshed_at >= '${since}'`,
  )
  return new Set(rows.map(({ key }) => String(key)))
}

/** Periods in which a record has no version. There must be none, because no record has vanished. */
const gaps = async (trial: Trial): Promise<Row[]> => {
  const found: Row[] = []
  for (const [table, key] of [
    ['surveys', 'account, id'],
    ['sample_sources', 'account, survey_id, id'],
  ]) {
    found.push(
      ...(await trial.rows(`SELECT * FROM (SELECT ${key}, valid_to, lead(valid_from)
        OVER (PARTITION BY ${key} ORDER BY valid_from) AS next_from FROM ${table}_history)
        WHERE valid_to IS DISTINCT FROM next_from`)),
    )
  }
  return found
}

const versionCounts = async (trial: Trial): Promise<Row> => {
  const counts = ['surveys', 'sample_sources', 'survey_progress', 'sample_source_progress'].map(
    (table) => `(SELECT count(*) FROM ${table}_history) - (SELECT count(*) FROM ${table}) AS ${table}`,
  )
  const [row] = await trial.rows(`SELECT ${counts.join(', ')}`)
  return row ?? {}
}

const historyGrew = ({ surveys, survey_progress, sample_source_progress }: Row): boolean =>
  Number(surveys) > 0 && Number(survey_progress) > 0 && Number(sample_source_progress) > 0
