/** What a run has read before a failure is stored, so the next run must not take it for a sign that nothing else has changed. */
import { describe, expect, test } from 'vitest'
import { RefusedReadingError } from '../../../src/model/survey-source.js'
import type { MemorySource, MemorySurvey } from '../../support/api/memory-source.js'
import { minute } from '../../support/time/instants.js'
import { readAndCommit } from '../../support/warehouse/read-bundle.js'
import { list, source, survey as surveyRow } from '../../support/warehouse/rows.js'
import { REFRESH_RULES, selectedSurveys } from '../../support/warehouse/run-dependencies.js'
import {
  type Counts,
  counted,
  differing,
  LIST,
  move,
  summed,
  world,
} from '../../support/warehouse/summed-survey.js'
import { sharedWarehouse } from '../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const DAY = 24 * 60

/** A survey whose sources and progress were read at the first minute. */
const readWorld = async () => {
  const warehouse = await emptyWarehouse()
  const { api, survey } = world()
  await list(warehouse.account, [surveyRow(1)], minute(0), 'full')
  await readAndCommit(warehouse, api)
  return { warehouse, api, survey }
}

const refuse = (api: MemorySource, refused: string | null) => {
  api.before = (request) => {
    if (request === refused) throw new RefusedReadingError('rejected', `${request}: 500`)
  }
}

const addSource = (survey: MemorySurvey, counts: Counts) => {
  survey.sources.push(source(15, { sample_size: counts.target ?? 100 }))
  survey.sourceProgress[15] = counted(counts)
  summed(survey)
}

describe('the list of sources is read again if it failed when there was a sign that it had changed', () => {
  test.each<[string, Counts]>([
    ['interviews of no known source', { target: 0, complete: 7 }],
    ['a target', { target: 50 }],
  ])('%s', async (_, counts) => {
    const { warehouse, api, survey } = await readWorld()
    api.now = minute(DAY)
    addSource(survey, counts)
    refuse(api, LIST)
    await readAndCommit(warehouse, api)
    await warehouse.expectRows('SELECT sources_read_at, sources_listed_at FROM freshness', [
      [null, '2026-03-01T00:00:00Z'],
    ])
    refuse(api, null)
    api.now = minute(DAY + 60)
    const { outcome } = await readAndCommit(warehouse, api, { isLeftOver: true })
    expect(api.asked).toContain(LIST)
    expect(outcome).toMatchObject({ unread: null })
    expect(await differing(warehouse, api)).toEqual([])
  })

  test('a title, though later only updated_at moves', async () => {
    const { warehouse, api, survey } = await readWorld()
    const title = 'another title'
    const listAgain = async (days: number) => {
      api.now = minute(days * DAY)
      await list(warehouse.account, [surveyRow(1, { title, updated_at: minute(days * DAY - 10) })], api.now)
    }
    await listAgain(1)
    addSource(survey, { target: 0 })
    move(survey, { 11: { complete: 1 } })
    refuse(api, LIST)
    await readAndCommit(warehouse, api, { reason: 'changed' })
    refuse(api, null)
    await listAgain(2)
    const selection = { rules: REFRESH_RULES, at: api.now, changedSince: null }
    const [planned] = await selectedSurveys(warehouse.account, selection)
    expect(planned).toMatchObject({ isTouched: true, task: { reason: 'changed' } })
    move(survey, { 11: { complete: 1 } })
    await readAndCommit(warehouse, api, { reason: 'changed', isTouched: true, isLeftOver: true })
    expect(api.asked).toContain(LIST)
    expect(await differing(warehouse, api)).toEqual([])
  })
})

test.each(['progress 1', 'progress 1/15'])(
  'a survey whose list alone was read is not done if %s failed in the last run',
  async (refused) => {
    const { warehouse, api, survey } = await readWorld()
    api.now = minute(2 * DAY)
    await warehouse.account.enqueue([{ surveyId: 1, reason: 'sources' }], { runId: 'r1', at: api.now })
    addSource(survey, { target: 50 })
    refuse(api, refused)
    await readAndCommit(warehouse, api, { reason: 'sources' })
    refuse(api, null)
    api.now = minute(3 * DAY)
    await readAndCommit(warehouse, api, { reason: 'sources', isLeftOver: true })
    expect(await differing(warehouse, api)).toEqual([])
    await warehouse.expectRows('SELECT reason FROM _sync.tasks', [])
  },
)

test('a budget that lies between one reading and two does not hold a survey up for ever', async () => {
  const { warehouse, api, survey } = await readWorld()
  addSource(survey, { target: 0, complete: 7 })
  const { outcome } = await readAndCommit(warehouse, api, { requestsMax: 9 })
  // The first reading took five requests before it showed that there is another source.
  expect(api.asked).toHaveLength(7)
  expect(outcome).toMatchObject({ kind: 'oversized', requestsNeeded: 12 })
})
