/** The long part of a run: it tries every task of the queue once, in order. */
import { sum } from 'd3-array'
import { expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import { RefusedReadingError } from '../../../src/model/survey-source.js'
import type { AccountWarehouse } from '../../../src/model/warehouse.js'
import { RunBudget } from '../../../src/sync/budget.js'
import { queueDue } from '../../../src/sync/planning.js'
import { createRunState } from '../../../src/sync/run-state.js'
import { refresh } from '../../../src/sync/worker.js'
import { memorySource } from '../../support/api/memory-source.js'
import { minute } from '../../support/time/instants.js'
import { testClock } from '../../support/time/test-clock.js'
import { list, survey, withOneSource } from '../../support/warehouse/rows.js'
import { runDependencies } from '../../support/warehouse/run-dependencies.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'

/** A run with 200 queued surveys, and the numbers of surveys that it commits together. Its clock stands still. */
const queuedRun = async (
  readable: (id: number) => boolean,
  signal = new AbortController().signal,
  requestsMax: number | null = null,
) => {
  const warehouse = await testWarehouse()
  const ids = Array.from({ length: 200 }, (_, index) => index + 1)
  await list(
    warehouse.account,
    ids.map((id) => survey(id)),
    minute(0),
    'full',
  )
  const groups: number[] = []
  const stored: number[] = []
  const account: AccountWarehouse = {
    ...warehouse.account,
    commitBundles: (outcomes, runId) => {
      groups.push(outcomes.length)
      return warehouse.account.commitBundles(outcomes, runId)
    },
    storedBundles: (surveyIds) => {
      stored.push(...surveyIds)
      return warehouse.account.storedBundles(surveyIds)
    },
  }
  const api = memorySource(withOneSource(ids.filter(readable)))
  const dependencies = runDependencies({ ...warehouse, account }, api)
  const budget = new RunBudget({ ...dependencies.rules.budget, requests_max: requestsMax }, testClock())
  const run = {
    ...dependencies,
    signal,
    budget,
    state: { ...createRunState(), serverTime: minute(10) },
  }
  return { warehouse, ids, api, run, groups, stored }
}

test('tries every task once, in order of urgency, while other tasks fail or are under way', async () => {
  // The API answers 404 for every fourth survey.
  const { warehouse, ids, api, run } = await queuedRun((id) => id % 4 > 0)
  await refresh(run, await queueDue(run))
  expect(
    api.asked.flatMap((request) => /^sources (\d+) page 1$/.exec(request)?.[1] ?? []).map(Number),
  ).toEqual(ids.toReversed())
  expect(run.state.counts).toMatchObject({ surveysRefreshed: 150, surveysFailed: 50 })
  await warehouse.expectRows('SELECT DISTINCT survey_id % 4 AS rest, attempts FROM _sync.tasks', [[0, 1]])
})

test('where every survey is forbidden, no more are requested than were under way at the first refusal', async () => {
  const { api, run } = await queuedRun(() => true)
  api.before = () => {
    throw new RefusedReadingError('forbidden', 'answered 403')
  }
  await expect(refresh(run, await queueDue(run))).rejects.toThrow('failed one after the other')
  expect(new Set(surveysAsked(api.asked)).size).toBeLessThanOrEqual(8)
})

test('where no survey is found, each may be gone: all are requested, and then the run fails', async () => {
  const { api, ids, run } = await queuedRun(() => false)
  await expect(refresh(run, await queueDue(run))).rejects.toThrow('the API refused all 200 requested surveys')
  expect(surveysAsked(api.asked)).toHaveLength(2 * ids.length)
})

const surveysAsked = (asked: readonly string[]) => asked.map((request) => / (\d+)/.exec(request)?.[1])

test('surveys that arrive during a commit are committed together', async () => {
  const { run, groups } = await queuedRun(() => true)
  await refresh(run, await queueDue(run))
  expect(sum(groups)).toBe(200)
  expect(groups.length).toBeLessThanOrEqual(40)
})

test('of surveys that a used budget leaves over, no stored rows are read', async () => {
  const { run, stored } = await queuedRun(() => true, undefined, 12)
  await expect(refresh(run, await queueDue(run))).rejects.toThrow('--max-requests 12')
  expect(run.state.counts.surveysRefreshed).toBeGreaterThan(0)
  expect(stored.length).toBeLessThanOrEqual(32)
})

test('after a signal, what was read is committed', async () => {
  const stop = new AbortController()
  const { warehouse, api, run, groups } = await queuedRun(() => true, stop.signal)
  api.before = () => {
    if (api.asked.length === 100) stop.abort(new StoppedError('stopped by SIGTERM'))
  }
  await expect(refresh(run, await queueDue(run))).rejects.toThrow('stopped by SIGTERM')
  const { surveysRefreshed } = run.state.counts
  expect(sum(groups)).toBe(surveysRefreshed)
  expect(surveysRefreshed).toBeGreaterThan(20)
  await warehouse.expectRows('SELECT count(*) FROM _sync.tasks', [[200 - surveysRefreshed]])
})
