/** Which surveys a rule excludes, and that it hides neither a change of their status nor that they are gone. */
import { expect, test } from 'vitest'
import type { AccountWarehouse } from '../../../../src/model/warehouse.js'
import { minute } from '../../../support/time/instants.js'
import { bundle, failedTask, list, progress, RUN, survey } from '../../../support/warehouse/rows.js'
import {
  plannedSurveys,
  REFRESH_RULES,
  selectedSurveys,
} from '../../../support/warehouse/run-dependencies.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const excluded = async (surveys: ReturnType<typeof plannedSurveys>) =>
  Object.fromEntries(
    (await surveys).flatMap(({ id, excludedBy }) => (excludedBy === null ? [] : [[id, excludedBy]])),
  )

const NONE = { status: [], surveys: [], projects: [] }

const readAll = async (account: AccountWarehouse, ids: readonly number[]) => {
  await account.commitBundles(
    ids.map((id) => bundle(id, minute(1), [], progress(1))),
    RUN,
  )
}

test('a status excludes a survey when its stored and its waiting row have it', async () => {
  const { account } = await emptyWarehouse()
  const stored = ['fieldwork', 'fieldwork', 'pending', 'pending']
  await list(
    account,
    stored.map((status, index) => survey(index + 1, { status })),
    minute(0),
    'full',
  )
  await readAll(account, [1, 2, 3])
  const changed = ['pending', 'fieldwork', 'fieldwork', 'fieldwork']
  const later = { title: 'changed' }
  await list(
    account,
    changed.map((status, index) => survey(index + 1, { status, ...later })),
    minute(2),
  )
  const rules = { ...NONE, status: ['pending'] }
  // 1 has closed since, 3 has opened again. 4 was never read, so its row is stored at once.
  await account.storeExclusions(rules)
  expect(await excluded(plannedSurveys(account))).toEqual({})
  await readAll(account, [1, 2])
  await account.storeExclusions(rules)
  expect(await excluded(plannedSurveys(account))).toEqual({ 1: 'status' })
})

test('plan uses the rules of now, and the mark of the last sync without them', async () => {
  const { account, expectRows } = await emptyWarehouse()
  const project_id = `a', 'b"; --`
  await list(
    account,
    [survey(1), survey(2, { project_id }), survey(3, { project_id: null })],
    minute(0),
    'full',
  )
  const inVain = await account.storeExclusions({ ...NONE, surveys: [99, 1], projects: [project_id, 'a, "b'] })
  expect(inVain).toEqual(['survey 99', 'project "a, \\"b"'])
  expect(await excluded(plannedSurveys(account))).toEqual({ 1: 'id', 2: 'project' })
  const selection = { rules: REFRESH_RULES, at: minute(1), changedSince: null }
  expect(
    await excluded(selectedSurveys(account, { ...selection, exclude: { ...NONE, surveys: [3] } })),
  ).toEqual({ 3: 'id' })
  await account.storeExclusions(undefined)
  await expectRows('SELECT count(excluded_by) AS n FROM freshness', [[0]])
})

test('an excluded survey is neither left over nor failing, but one that no full listing showed is in the queue', async () => {
  const { account } = await emptyWarehouse()
  await list(account, [survey(1), survey(2)], minute(0), 'full')
  await account.commitBundles([failedTask(1, minute(1)), failedTask(2, minute(1))], RUN)
  await account.storeExclusions({ ...NONE, surveys: [1, 2] })
  expect(await account.runFacts(RUN)).toMatchObject({ leftOver: 0, failing: 0, failingSurveys: [] })
  expect(await account.hasTasks()).toBe(false)
  await list(account, [survey(2)], minute(2), 'full')
  expect(await account.runFacts(RUN)).toMatchObject({ leftOver: 1, failing: 1 })
  expect(await excluded(plannedSurveys(account))).toEqual({ 2: 'id' })
})
