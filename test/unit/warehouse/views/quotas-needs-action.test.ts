/** What needs_action and survey_pace say of a survey whose sources stop at their own targets, from readings of 16 afternoons. */
import { expect, test } from 'vitest'
import type { Survey } from '../../../../src/model/fields.js'
import { storeForecasts } from '../../../../src/warehouse/history/forecasts.js'
import { storePlan } from '../../../../src/warehouse/plan.js'
import { hourOf } from '../../../support/time/instants.js'
import { bundle, list, planLine, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()
const NIGHTS = 16

interface World {
  /** The complete interviews and the target of each source in a night; null: the list does not have it. */
  readonly sources: (night: number) => readonly (readonly [complete: number, target: number] | null)[]
  /** Complete interviews of no source. */
  readonly elsewhere?: (night: number) => number
  readonly status?: (night: number) => Survey['status']
  readonly due?: string
}

const play = async ({ sources, elsewhere = () => 0, status = () => 'fieldwork', due }: World) => {
  const { account, database, rows } = await emptyWarehouse()
  for (let night = 1; night <= NIGHTS; night += 1) {
    const at = hourOf(night, 14)
    const isNew = night === 1 || status(night) !== status(night - 1)
    if (isNew)
      await list(
        account,
        [survey(1, { status: status(night), updated_at: at })],
        at,
        night === 1 ? 'full' : 'incremental',
      )
    const read = sources(night)
    const shown = read.flatMap((one, place) =>
      one === null ? [] : [{ id: place + 1, complete: one[0], target: one[1] }],
    )
    const target = sources(1).reduce((sum, one) => sum + (one?.[1] ?? 0), 0)
    const complete = shown.reduce((sum, one) => sum + one.complete, elsewhere(night))
    const sourceProgress = shown.map((one) => ({
      sampleSourceId: one.id,
      progress: progress(one.complete, { sample_size: one.target }),
      at,
    }))
    const listed = shown.map((one) => source(one.id, { sample_size: one.target }))
    const whole = progress(complete, { sample_size: target, completion_rate: null })
    await account.commitBundles([bundle(1, at, listed, whole, { sourceProgress })], RUN)
    // A week before the last night.
    if (night === NIGHTS - 7) await storeForecasts(database)
  }
  if (due !== undefined) await storePlan(database, [planLine({ line: 2, survey_id: 1, due_on: due })])
  const [pace] = await rows(
    `SELECT per_day, round(expected_per_day, 1) AS expected_per_day, CAST(expected_on AS VARCHAR) AS expected_on,
      CAST(expected_to AS VARCHAR) AS expected_to, deadline FROM survey_pace`,
  )
  const reasons = await rows(
    `SELECT concat(kind, ': ', text) AS reason FROM needs_action WHERE kind <> 'sources_behind' ORDER BY kind`,
  )
  return { pace, reasons: reasons.map(({ reason }) => reason) }
}

/** 16 and 8 a day, with a gain that is 1 more or less on some days. */
const unequal = (night: number) =>
  [
    [16 * night + ([0, 1, -1, 0, 1, 0, -1][night % 7] ?? 0), 500],
    [8 * night, 500],
  ] as const

test('steady sources of unequal pace do not slip, and a text about the due date has both paces', async () => {
  const { pace, reasons } = await play({ sources: unequal, due: '2026-04-25' })
  expect(pace).toMatchObject({ per_day: 24, expected_per_day: 13.3, expected_on: '2026-05-02' })
  expect(reasons).toEqual([
    'late: due 25 April, expected 2 May: needs 15.5 a day, has 24, 13.3 as sources fill up',
  ])
})

test('a survey that is late by its sources stays late in a pause', async () => {
  const { pace, reasons } = await play({
    sources: (night) => unequal(Math.min(night, 15)),
    status: (night) => (night < 16 ? 'fieldwork' : 'deviating_from_specs'),
    due: '2026-04-25',
  })
  expect(pace).toMatchObject({ expected_on: null, deadline: 'late' })
  expect(reasons).toEqual([
    'late: due 25 April, paused: needs 16 a day, had 24, 13.5 as sources fill up',
    'paused: paused',
  ])
})

test('a target is far by its slowest source', async () => {
  const { reasons } = await play({
    sources: (night) => [
      [40 * night, 700],
      [night, 300],
    ],
  })
  expect(reasons).toEqual(['far: target in 284 days'])
})

test('the last gains of a source that is gone bring the target no nearer', async () => {
  const { pace, reasons } = await play({
    sources: (night) => [night < 15 ? [30 * night, 500] : null, [4 * night, 500]],
    elsewhere: (night) => (night < 15 ? 0 : 420),
    due: '2026-04-25',
  })
  expect(pace).toMatchObject({ expected_per_day: 0, expected_on: null, deadline: 'late' })
  expect(reasons).toContain(
    'late: due 25 April, out of sight: needs 12.9 a day, has 25.4, but its sources are full before',
  )
})

test('a source that was added has no forecast from one day', async () => {
  const { pace, reasons } = await play({
    sources: (night) => [[20 * night, 500], night < 15 ? null : [10 * (night - 15), 100]],
  })
  expect(pace).toMatchObject({ expected_on: '2026-03-24' })
  expect(reasons).toEqual([])
})

test('the interval of the last source is that of its pace', async () => {
  const gains = [0, 10, 40, 5, 30, 20, 45]
  const sum = (night: number) =>
    Array.from({ length: night }, (_, day) => gains[(day + 1) % 7] ?? 0).reduce((all, gain) => all + gain, 0)
  const { pace, reasons } = await play({
    sources: (night) => [
      [Math.min(300, sum(night)), 300],
      [Math.min(100, 5 * night), 100],
    ],
    due: '2026-03-28',
  })
  expect(pace).toMatchObject({ expected_per_day: 5, expected_on: '2026-03-20', deadline: 'on_time' })
  expect(reasons).toEqual([])
})
