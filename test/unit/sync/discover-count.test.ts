/** One request for the number of all surveys takes the place of most full listings. */
import { expect, test } from 'vitest'
import type { SurveySource } from '../../../src/model/survey-source.js'
import { RunBudget } from '../../../src/sync/budget.js'
import { discover } from '../../../src/sync/discover.js'
import { createRunState } from '../../../src/sync/run-state.js'
import { type MemorySource, memorySource } from '../../support/api/memory-source.js'
import { minute } from '../../support/time/instants.js'
import { testClock } from '../../support/time/test-clock.js'
import { rejection, survey } from '../../support/warehouse/rows.js'
import { runDependencies } from '../../support/warehouse/run-dependencies.js'
import { sharedWarehouse } from '../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const DAY_MS = 86_400_000
const FULL = ['page 1', 'page 2']

/** Nights of an organization of three surveys on two pages. Incremental listings show those that changed since the cursor. */
const nights = async (
  edit: (page: Awaited<ReturnType<SurveySource['listSurveys']>>, isFull: boolean) => object = () => ({}),
) => {
  const warehouse = await emptyWarehouse()
  const clock = testClock()
  const api: MemorySource = memorySource()
  api.pageSize = 2
  api.listed.push(survey(3), survey(2), survey(1))
  const requests: string[] = []
  const source: SurveySource = {
    ...api,
    listSurveys: async ({ updatedSince, page }, context) => {
      requests.push(updatedSince === null ? `page ${page}` : 'changes')
      const all = [...api.listed]
      const changed = all.filter((row) => updatedSince === null || row.updated_at >= updatedSince)
      api.listed.splice(0, all.length, ...changed)
      const answer = await api.listSurveys({ updatedSince, page }, context)
      api.listed.splice(0, changed.length, ...all)
      return { ...answer, ...edit(answer, updatedSince === null) }
    },
  }
  const night = async (days: number, { requestsMax = null }: { requestsMax?: number | null } = {}) => {
    clock.advance(days * DAY_MS)
    api.now = minute(clock.nowMs() / 60_000 - Number(minute(0) / 60_000_000n))
    requests.length = 0
    const dependencies = { ...runDependencies(warehouse, source), clock }
    const budget = new RunBudget({ requests_max: requestsMax, duration_max: null }, clock)
    const state = createRunState()
    const discovery = await discover({ ...dependencies, budget, state }, await warehouse.account.position())
    return { requests: [...requests], discovery, listing: state.listing }
  }
  return { warehouse, api, night }
}

test('an incremental listing is followed by a count when the full one is a week old, and every week from then on', async () => {
  const { night } = await nights()
  expect(await night(0)).toEqual({ requests: FULL, discovery: 'complete', listing: 'full' })
  expect((await night(6)).requests).toEqual(['changes'])
  expect(await night(1)).toEqual({
    requests: ['changes', 'page 1'],
    discovery: 'complete',
    listing: 'incremental',
  })
  expect((await night(6)).requests).toEqual(['changes'])
  expect((await night(1)).requests).toEqual(['changes', 'page 1'])
  expect((await night(7)).requests).toEqual(['changes', 'page 1'])
  expect(await night(7)).toEqual({ requests: ['changes', ...FULL], discovery: 'complete', listing: 'full' })
})

test('a survey that is gone makes the count differ, and the full listing says which it is', async () => {
  const { warehouse, api, night } = await nights()
  await night(0)
  api.listed.splice(1, 1)
  expect(await night(7)).toEqual({
    ...{ requests: ['changes', 'page 1', 'page 1'], discovery: 'complete', listing: 'full' },
  })
  await warehouse.expectRows("SELECT survey_id FROM _sync.tasks WHERE reason = 'missing'", [[2]])
  expect((await night(6)).requests).toEqual(['changes'])
})

test('a survey that is created between listing and count is in the full listing', async () => {
  const { warehouse, api, night } = await nights()
  await night(0)
  // It is dated before the cursor, as by a clock that is behind.
  api.listed.unshift(survey(4))
  await night(7)
  await warehouse.expectRows('SELECT id FROM surveys ORDER BY id', [[1], [2], [3], [4]])
})

test('a survey in quarantine is known', async () => {
  const rejected = rejection({ surveyId: 9, rowId: 9 })
  const { night } = await nights(({ pagination }) => ({
    pagination: { ...pagination, total_count: pagination.total_count + 1 },
    rejections: pagination.next_page === null ? [rejected] : [],
  }))
  await night(0)
  expect((await night(7)).requests).toEqual(['changes', 'page 1'])
})

test('a survey in quarantine stays known, also if all others have been listed again since', async () => {
  const { api, night } = await nights(({ pagination }, isFull) =>
    isFull
      ? {
          pagination: { ...pagination, total_count: pagination.total_count + 1 },
          rejections: pagination.next_page === null ? [rejection({ surveyId: 9, rowId: 9 })] : [],
        }
      : {},
  )
  await night(0)
  api.listed.splice(0, 3, ...api.listed.map((row) => ({ ...row, updated_at: minute(2 * 1_440) })))
  expect((await night(3)).requests).toContain('changes')
  expect((await night(4)).requests).toEqual(['changes', 'page 1'])
})

test('a survey in quarantine that is gone is known no longer, once a full listing has not shown it', async () => {
  let isThere = true
  const { night } = await nights(({ pagination }) =>
    isThere
      ? {
          pagination: { ...pagination, total_count: pagination.total_count + 1 },
          rejections: pagination.next_page === null ? [rejection({ surveyId: 9, rowId: 9 })] : [],
        }
      : {},
  )
  await night(0)
  isThere = false
  expect((await night(7)).listing).toBe('full')
  expect((await night(7)).requests).toEqual(['changes', 'page 1'])
})

test('a budget that has no request left for the count leaves it to the next run', async () => {
  const { night } = await nights()
  await night(0)
  expect(await night(7, { requestsMax: 1 })).toMatchObject({ requests: ['changes'], discovery: 'complete' })
  expect((await night(0)).requests).toEqual(['changes', 'page 1'])
})

test('a full listing that does not fit into the budget reads a page in each run, after the changes', async () => {
  const { api, night } = await nights()
  await night(0)
  api.listed.splice(0, 3, ...[6, 5, 4, 3, 2, 1].map((id) => survey(id)))
  const ends = { discovery: 'interrupted', listing: 'full' }
  expect(await night(7, { requestsMax: 4 })).toEqual({ requests: ['changes', 'page 1', 'page 1'], ...ends })
  expect(await night(1, { requestsMax: 1 })).toEqual({ requests: ['changes', 'page 1', 'page 2'], ...ends })
  expect(await night(10, { requestsMax: 1 })).toEqual({
    ...{ requests: ['changes', 'page 2', 'page 3'], discovery: 'complete', listing: 'full' },
  })
  expect((await night(1)).requests).toEqual(['changes'])
})
