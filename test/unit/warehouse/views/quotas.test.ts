/** When sources that stop at their own targets reach the target of their survey: compared with a search in small steps. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { QUOTA_STEPS } from '../../../../src/warehouse/views/quotas.js'
import { cases } from '../../../support/suite/cases.js'
import { openReader } from '../../../support/warehouse/duckdb.js'

interface Source {
  readonly reached: number
  /** Null: the source has no target. */
  readonly target: number | null
  /** Null: its pace is not known. */
  readonly perDay: number | null
  /** How many days its pace covers; 7 by default. */
  readonly paceDays?: number
}

interface Survey {
  readonly target: number
  readonly sources: readonly Source[]
  /** Complete interviews of no source, and their pace. */
  readonly elsewhere?: { readonly reached: number; readonly perDay: number }
  /** The day on which a source of the survey went missing. The last known day is 1 March 2026. */
  readonly goneOn?: string
}

/** Of each survey, `quota_days` and the number of the slowest source, from 1; null without a row. */
const quotasOf = async (surveys: readonly Survey[], numberOf = (_: Source, index: number) => index) => {
  using reader = await openReader(':memory:')
  const goals = surveys.map(({ target, sources, elsewhere = { reached: 0, perDay: 0 } }, index) => {
    const reached = sources.reduce((sum, source) => sum + source.reached, elsewhere.reached)
    const perDay = sources
      .map((source) => source.perDay ?? 0)
      .toSorted((one, other) => one - other)
      .reduce((sum, one) => sum + one, elsewhere.perDay)
    return `('a', ${index}, 'fieldwork', ${target}, ${reached}, ${perDay}::DOUBLE, ${perDay}, DATE '2026-03-01')`
  })
  const sources = surveys.flatMap((survey, index) =>
    survey.sources.map(
      (source, at) =>
        `('a', ${index}, ${numberOf(source, at) + 1}, ${source.reached}::BIGINT, ${source.target}::BIGINT, ${source.perDay}::DOUBLE, ${source.paceDays ?? 7})`,
    ),
  )
  await reader.query(
    `CREATE TABLE all_goals AS SELECT * FROM (VALUES ${goals.join(', ')}) t(account, survey_id, status, target, reached, per_day, gained, as_of)`,
  )
  await reader.query(
    `CREATE TABLE source_paces AS SELECT * FROM (VALUES ${sources.join(', ')}) t(account, survey_id, sample_source_id, interviews_count, sample_size, per_day, pace_days)`,
  )
  const gone = surveys.flatMap(({ goneOn }, index) =>
    goneOn === undefined ? [] : [`('a', ${index}, TIMESTAMPTZ '${goneOn} 00:00:00+00')`],
  )
  await reader.query(
    'CREATE TABLE sample_sources (account VARCHAR, survey_id BIGINT, _missing_since TIMESTAMPTZ)',
  )
  if (gone.length > 0) await reader.query(`INSERT INTO sample_sources VALUES ${gone.join(', ')}`)
  const rows = await reader.query(
    `WITH goals AS (FROM all_goals), ${QUOTA_STEPS} SELECT survey_id, quota_days, slowest_source_id, slowest_in FROM quotas`,
  )
  const found = new Map(rows.map((row) => [Number(row.survey_id), row]))
  return surveys.map((_, index) => {
    const row = found.get(index)
    return row === undefined ? null : [row.quota_days, row.slowest_source_id, row.slowest_in]
  })
}

const of = (reached: number, target: number | null, perDay: number | null): Source => ({
  reached,
  target,
  perDay,
})

test('equal surveys have equal forecasts to the last digit, in whatever order their sources are read', async () => {
  const sources = [0.1, 10 / 7, 2 / 3, 3.3, 1e-3, 97 / 9].map((perDay, index) =>
    of(index, 90 + index, perDay),
  )
  const orders = Array.from({ length: 400 }, (_, turn) => [
    ...sources.slice(turn % sources.length),
    ...sources.slice(0, turn % sources.length),
  ])
  const elsewhere = { reached: 10, perDay: 1 / 3 }
  const found = await quotasOf(
    orders.map((order) => ({ target: 400, sources: order, elsewhere })),
    // The numbers of sources do not follow the order in which they are read.
    (source) => sources.indexOf(source),
  )
  expect(found[0]).not.toBeNull()
  expect(new Set(found.map((quota) => JSON.stringify(quota)))).toEqual(new Set([JSON.stringify(found[0])]))
})

test.each<[what: string, survey: Survey, expected: unknown]>([
  ['the slowest source decides', { target: 200, sources: [of(50, 100, 10), of(50, 100, 2)] }, [25, 2, 25]],
  ['sources of one pace', { target: 200, sources: [of(50, 100, 5), of(50, 100, 5)] }, [10, 2, 10]],
  // 150 missing at 12 a day take 12.5 days, but the first is full after 5, and then 90 are missing at 2 a day.
  [
    'a target that needs not all of them',
    { target: 190, sources: [of(50, 100, 10), of(50, 100, 2)] },
    [20, 2, 25],
  ],
  [
    'a source without a target goes on',
    { target: 200, sources: [of(50, 60, 10), of(50, null, 3)] },
    [30, 1, 1],
  ],
  [
    'interviews of no source go on',
    { target: 200, sources: [of(50, 60, 10), of(50, 60, 1)], elsewhere: { reached: 10, perDay: 4 } },
    // 10 of the second source and 40 of no source in ten days, then 30 more of no source.
    [17.5, 2, 10],
  ],
  [
    'a source that gains nothing is never full',
    { target: 200, sources: [of(50, 100, 10), of(50, 100, 0)] },
    [null, 2, Infinity],
  ],
  ['a full source', { target: 200, sources: [of(100, 100, 3), of(50, 100, 5)] }, [10, 2, 10]],
  ['an overfull source', { target: 200, sources: [of(120, 100, 3), of(50, 100, 5)] }, [6, 2, 10]],
  // 300 in all are more than the sources may bring: their targets are not the whole truth.
  ['targets that are too low', { target: 300, sources: [of(50, 100, 10), of(50, 100, 2)] }, null],
  ['no targets', { target: 200, sources: [of(50, null, 10), of(50, null, 2)] }, null],
  ['a new source', { target: 200, sources: [of(50, 100, 10), of(0, 100, null)] }, null],
  [
    'a source with a pace of one day',
    { target: 200, sources: [of(50, 100, 10), { ...of(10, 100, 1), paceDays: 1 }] },
    null,
  ],
  [
    'the last gains of a source that is gone do not go on',
    { target: 150, sources: [of(50, 100, 2)], elsewhere: { reached: 60, perDay: 30 }, goneOn: '2026-02-27' },
    [20, 1, 25],
  ],
  [
    'without a source that is gone, the others may not be enough',
    { target: 200, sources: [of(50, 100, 2)], elsewhere: { reached: 60, perDay: 30 }, goneOn: '2026-02-27' },
    [null, 1, 25],
  ],
  [
    'interviews of no source go on, long after a source is gone',
    { target: 200, sources: [of(50, 60, 2)], elsewhere: { reached: 60, perDay: 4 }, goneOn: '2026-01-31' },
    [20, 1, 5],
  ],
])('%s', async (_, survey, expected) => {
  expect(await quotasOf([survey])).toEqual([expected])
})

test('the day is that which a search in small steps finds', async () => {
  const source = fc.record({
    reached: fc.nat({ max: 90 }),
    target: fc.option(fc.integer({ min: 1, max: 120 })),
    perDay: fc.integer({ min: 0, max: 80 }).map((tenths) => tenths / 10),
  })
  const surveys = fc.array(
    fc.record({
      target: fc.integer({ min: 10, max: 400 }),
      sources: fc.array(source, { minLength: 1, maxLength: 5 }),
    }),
    { minLength: 40, maxLength: 40 },
  )
  const STEP = 0.01
  const DAYS = 400
  const searched = ({ target, sources }: Survey): number | null => {
    const at = (days: number) =>
      sources.reduce((sum, { reached, target: stop, perDay }) => {
        const sent = reached + (perDay ?? 0) * days
        return sum + (stop === null ? sent : Math.min(Math.max(stop, reached), sent))
      }, 0)
    for (let step = 0; step <= DAYS / STEP; step += 1)
      if (at(step * STEP) >= target - 1e-6) return step * STEP
    return null
  }
  await fc.assert(
    fc.asyncProperty(surveys, async (all) => {
      const found = await quotasOf(all)
      for (const [index, quota] of found.entries()) {
        const survey = all[index]
        if (quota === null || survey === undefined) continue
        const expected = searched(survey)
        const days = quota[0] === null || Number(quota[0]) > DAYS ? null : Number(quota[0])
        expect({
          survey,
          isNear: days === null ? expected === null : Math.abs(days - (expected ?? -1)) <= 2 * STEP,
        }).toEqual({
          survey,
          isNear: true,
        })
      }
    }),
    cases(2, 20),
  )
})
