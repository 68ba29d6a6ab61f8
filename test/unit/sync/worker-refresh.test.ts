/** The long part of a run: it tries every task of the queue once, in order. */
import { expect, test } from 'vitest'
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

test('tries every task once, in order of urgency, while other tasks fail or are under way', async () => {
  const warehouse = await testWarehouse()
  const ids = Array.from({ length: 200 }, (_, index) => index + 1)
  await list(
    warehouse.account,
    ids.map((id) => survey(id)),
    minute(0),
    'full',
  )
  // The API answers 404 for every fourth survey.
  const api = memorySource(withOneSource(ids.filter((id) => id % 4 > 0)))
  const dependencies = runDependencies(warehouse, api)
  const budget = new RunBudget(dependencies.rules.budget, testClock())
  const state = { ...createRunState(), serverTime: minute(10) }
  const run = { ...dependencies, budget, state }
  await refresh(run, await queueDue(run))
  expect(
    api.asked.flatMap((request) => /^sources (\d+) page 1$/.exec(request)?.[1] ?? []).map(Number),
  ).toEqual(ids.toReversed())
  expect(state.counts).toMatchObject({ surveysRefreshed: 150, surveysFailed: 50 })
  await warehouse.expectRows('SELECT DISTINCT survey_id % 4 AS rest, attempts FROM _sync.tasks', [[0, 1]])
})
