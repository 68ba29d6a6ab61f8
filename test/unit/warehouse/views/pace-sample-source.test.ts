/** The pace of sample sources, and how far they are behind their survey, for readings whose results were computed by hand. */
import { group, max, range } from 'd3-array'
import { expect, test } from 'vitest'
import type { AccountWarehouse, RefreshedBundle } from '../../../../src/model/warehouse.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { hourOf } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

/** In the afternoon, so that a reading belongs to the day on which it takes place. */
const at = (day: number, hour = 14) => hourOf(day, hour)

/** A night on which the survey is read with its sources: the complete interviews of all, and of each source by its id. */
const night = (
  surveyId: number,
  day: number,
  complete: number,
  counts: Readonly<Record<number, number>>,
  change: Partial<RefreshedBundle> = {},
): RefreshedBundle => {
  const ids = Object.keys(counts).map(Number)
  const sources = ids.map((id) => source(id, { sample_size: SAMPLE_SIZES[id] ?? 100 }))
  return bundle(surveyId, at(day), sources, progress(complete, { sample_size: TARGETS[surveyId] ?? 200 }), {
    sourceProgress: ids.map((id) => ({
      sampleSourceId: id,
      progress: progress(counts[id] ?? 0),
      at: at(day),
    })),
    ...change,
  })
}

/** A night on which the progress of the survey has not changed, so the sources are not read. */
const unchanged = (surveyId: number, day: number, complete: number): RefreshedBundle =>
  night(surveyId, day, complete, {}, { listedSourceIds: null, sourceProgressRead: 'unchanged' })

const SAMPLE_SIZES: Readonly<Record<number, number>> = { 12: 50, 13: 0, 61: Number.MAX_SAFE_INTEGER }
const TARGETS: Readonly<Record<number, number>> = { 5: 0, 6: Number.MAX_SAFE_INTEGER, 9: 100 }

const ROW = `sample_source_id, behind, pace_days, gained, expected_on::VARCHAR,
  strftime(timezone('UTC', last_gain_at), '%d'), strftime(timezone('UTC', source_progress_read_at), '%d')`

test('sample_source_pace gives the pace of each source, its expected day and how far it is behind', async () => {
  const { account, database, rows } = await emptyWarehouse()
  const perform = async (on: AccountWarehouse, commits: readonly RefreshedBundle[]) => {
    const bySurvey = [...group(commits, ({ surveyId }) => surveyId).values()]
    // The first readings of all surveys, then their second ones, and so on.
    for (const nth of range(max(bySurvey, ({ length }) => length) ?? 0)) {
      const readings = bySurvey.flatMap(({ [nth]: commit }) => commit ?? [])
      await on.commitBundles(readings, RUN)
    }
  }
  const ids = [1, 2, 3, 4, 5, 6, 7, 8, 9]
  const all = (change = {}) =>
    ids.map((id) => survey(id, id === 7 ? { status: 'complete', ...change } : change))
  await list(account, all(), at(1, 0), 'full')
  // Survey 1 is complete to 45 %, so 45, 22.5 and no interviews are expected of its sources.
  await perform(account, [
    night(1, 1, 20, { 11: 2, 12: 18, 13: 0 }),
    night(1, 3, 40, { 11: 16, 12: 21, 13: 3 }),
  ])
  await perform(account, [night(1, 10, 90, { 11: 30, 12: 21, 13: 39 })])
  // The interviews of survey 2 stand still. Its sources were read on the third, and do not count as unknown since.
  await perform(account, [night(2, 1, 10, { 21: 10 }), night(2, 3, 24, { 21: 24 })])
  for (const day of [5, 9, 10]) await perform(account, [unchanged(2, day, 24)])
  // The progress of survey 3 changed, but its sources were refused: they are known until the third.
  await perform(account, [night(3, 1, 10, { 31: 10 }), night(3, 3, 24, { 31: 24 })])
  const refused = { error: 'answered 403', isRefused: true }
  for (const day of [8, 10])
    await perform(account, [
      { ...unchanged(3, day, 30 + day), unread: refused, sourcesRead: 'some', sourceProgressRead: 'some' },
    ])
  // Source 41 was not listed from the fourth to the eighth, so it is known on the third and from the eighth on. Source 42 is gone.
  await perform(account, [
    night(4, 1, 20, { 41: 10, 42: 10 }),
    night(4, 4, 12, { 43: 12 }),
    night(4, 8, 30, { 41: 18, 43: 12 }),
  ])
  await perform(account, [night(4, 10, 30, { 41: 22, 43: 8 })])
  // Survey 5 has no target. The numbers of survey 6 have a product above every integer of the API.
  await perform(account, [night(5, 10, 5, { 51: 5 }), night(6, 10, Number.MAX_SAFE_INTEGER, { 61: 1 })])
  // Survey 7 is closed, and survey 8 is gone.
  await perform(account, [night(7, 3, 4, { 71: 4 }), night(7, 10, 11, { 71: 11 }), night(8, 3, 4, { 81: 4 })])
  await account.commitBundles([{ kind: 'gone', surveyId: 8, at: at(5) }], RUN)
  // Survey 9 has more than its target, and nobody waits for more than the target of a source.
  await perform(account, [night(9, 10, 150, { 91: 90, 92: 100 })])

  const expected = [
    [11, 15, 7, 14, '2026-04-14', '10', '10'],
    [12, 2, 7, 0, null, '03', '10'],
    [13, null, 7, 36, null, '10', '10'],
    [21, 0, 7, 0, null, '03', '03'],
    [31, 0, 2, 14, '2026-03-14', '03', null],
    [41, 0, 7, 12, '2026-04-25', '10', '10'],
    [43, 7, 6, -4, null, null, '10'],
    [51, null, null, null, null, null, '10'],
    [61, Number.MAX_SAFE_INTEGER - 1, null, null, null, null, '10'],
    [71, 0, null, null, null, '10', '10'],
    [91, 10, null, null, null, null, '10'],
    [92, 0, null, null, '2026-03-10', null, '10'],
  ]
  const found = async () =>
    (
      await rows(
        `SELECT ${ROW} FROM sample_source_pace WHERE account = 'acme' ORDER BY survey_id, sample_source_id`,
      )
    ).map((row) => Object.values(row))
  expect(await found()).toEqual(expected)

  const other = accountWarehouse(database, 'bolt')
  await list(other, all({ status: 'pending' }), at(1, 0), 'full')
  await perform(other, [night(1, 2, 1, { 11: 1 }), night(1, 5, 10, { 11: 10 })])
  expect(await found()).toEqual(expected)
  await account.compactProgress(at(40), { runId: RUN, at: at(40) })
  expect(await found()).toEqual(expected)
})

test('sample_source_pace has the columns of the source and the completion of its survey', async () => {
  const { account, expectRows } = await emptyWarehouse()
  await list(account, [survey(1)], at(1, 0), 'full')
  await account.commitBundles([night(1, 2, 50, { 11: 20 })], RUN)
  await expectRows('SELECT * FROM sample_source_pace', [
    {
      account: 'acme',
      survey_id: 1,
      sample_source_id: 11,
      name: 'S11',
      provider: 'panel',
      country_code: 'FR',
      sample_size: 100,
      interviews_count: 20,
      completion_rate: 20 / 200,
      survey_completion_rate: 50 / 200,
      behind: 5,
      source_progress_read_at: '2026-03-02T14:00:00Z',
      last_gain_at: null,
      pace_days: null,
      gained: null,
      per_day: null,
      newest_gain: null,
      newest_gain_days: null,
      expected_on: null,
    },
  ])
})
