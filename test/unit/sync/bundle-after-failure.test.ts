/** What a run has read before a failure is stored, so the next run must not take it for a sign that nothing else has changed. */
import { describe, expect, test } from 'vitest'
import { RefusedReadingError } from '../../../src/model/survey-source.js'
import type { MemorySource, MemorySurvey } from '../../support/api/memory-source.js'
import { minute } from '../../support/time/instants.js'
import { readAndCommit } from '../../support/warehouse/read-bundle.js'
import { list, source, survey as surveyRow } from '../../support/warehouse/rows.js'
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

describe('a new source is found in the night after its list failed, if it came with', () => {
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
})

test('a source that could not be read is read in the next night, whatever has changed', async () => {
  const { warehouse, api, survey } = await readWorld()
  api.now = minute(2 * DAY)
  addSource(survey, { target: 50 })
  refuse(api, 'progress 1/15')
  await readAndCommit(warehouse, api)
  refuse(api, null)
  api.now = minute(3 * DAY)
  await readAndCommit(warehouse, api, { isLeftOver: true })
  expect(await differing(warehouse, api)).toEqual([])
})

test('a budget that lies between one reading and two does not hold a survey up for ever', async () => {
  const { warehouse, api, survey } = await readWorld()
  api.now = minute(DAY)
  move(survey, { 11: { complete: 1 } })
  api.before = (request) => {
    if (request !== 'progress 1/14' || survey.sourceProgress[14] === undefined) return
    survey.sources.pop()
    delete survey.sourceProgress[14]
    summed(survey)
  }
  const { outcome } = await readAndCommit(warehouse, api, { requestsMax: 8 })
  // The first reading took six requests before it showed that a source has gone.
  expect(outcome).toMatchObject({ kind: 'oversized', requestsNeeded: 6 + 2 + 3 })
})
