/** The pace and the forecast of surveys, for readings whose results were computed by hand. */
import { expect, test } from 'vitest'
import type { Progress, Survey } from '../../../../src/model/fields.js'
import type { Instant } from '../../../../src/model/instant.js'
import type { AccountWarehouse, BundleOutcome } from '../../../../src/model/warehouse.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { storePlan } from '../../../../src/warehouse/plan.js'
import { unsoundnessIn } from '../../../support/oracle/soundness.js'
import { hourOf, instantOf } from '../../../support/time/instants.js'
import {
  bundle,
  list,
  planLine,
  progress,
  RUN,
  reconstructed,
  source,
  survey,
} from '../../../support/warehouse/rows.js'
import { sharedWarehouse, type TestWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

/** In the afternoon, so a reading belongs to the day on which it takes place. */
const at = (day: number, hour = 14): Instant => hourOf(day, hour)

type Reading = readonly [at: Instant, read: Progress | 'gone' | 'listed']

const read = (complete: number | null, sampleSize: number | null = 100): Progress =>
  progress(complete ?? 0, { interviews_count: complete, sample_size: sampleSize })

/** A reading on each of these nights. */
const nightly = (counts: Readonly<Record<number, number>>, sampleSize: number | null = 100): Reading[] =>
  Object.entries(counts).map(([day, complete]) => [at(Number(day)), read(complete, sampleSize)])

/** The same gain on each night from the first to the tenth of March. */
const steady = (gain: number, from = 0): Record<number, number> =>
  Object.fromEntries(Array.from({ length: 10 }, (_, night) => [night + 1, from + night * gain]))

/** `expected`: days of the pace, gain, expected day, first and last day of the interval, day of the last gain. */
type Case = readonly [
  what: string,
  readings: readonly Reading[],
  expected: readonly (number | string | null)[],
  change?: Partial<Survey>,
]

const CASES: readonly Case[] = [
  [
    'a steady pace: 5 a day, 55 are missing, and no gain differs from another, so only the pace may change',
    nightly(steady(5)),
    [7, 35, '2026-03-21', '2026-03-19', '2026-03-25', '10'],
  ],
  ['two days, so one gain: too early to say', nightly({ 9: 5, 10: 7 }), [1, 2, null, null, null, '10']],
  [
    'three days: too few for an interval',
    nightly({ 8: 3, 9: 5, 10: 7 }),
    [2, 4, '2026-04-26', null, null, '10'],
  ],
  ['one known day', nightly({ 10: 7 }), [null, null, null, null, null, null]],
  ['no interviews', nightly(steady(0)), [7, 0, null, null, null, null]],
  ['no target', nightly(steady(5), null), [7, 35, null, null, null, '10']],
  ['target 0', nightly(steady(5), 0), [7, 35, null, null, null, '10']],
  ['target reached', nightly({ 3: 90, 10: 100 }), [7, 10, '2026-03-10', '2026-03-10', '2026-03-10', '10']],
  [
    'above the target on one known day',
    nightly({ 10: 110 }),
    [null, null, '2026-03-10', '2026-03-10', '2026-03-10', null],
  ],
  [
    'complete interviews failed a quality check',
    nightly({ 1: 40, 2: 46, 10: 45 }),
    [8, -1, null, null, null, '02'],
  ],
  ['more failed a check than are missing', nightly({ 1: 110, 10: 90 }), [9, -20, null, null, null, null]],
  [
    'all of a gain on the last day: 45 after eight days without; the slowest pace does not reach the target',
    nightly({ ...steady(0), 10: 45 }),
    [7, 45, '2026-03-19', '2026-03-13', null, '10'],
  ],
  [
    'the survey was missing for a week, which the pace covers too',
    [...nightly({ 1: 1, 2: 2 }), [at(3, 0), 'gone'], [at(9, 1), 'listed'], ...nightly({ 9: 20, 10: 24 })],
    [8, 22, '2026-04-07', null, null, '10'],
  ],
  [
    'the survey was missing inside of the week',
    [
      ...nightly({ 1: 1, 2: 2, 3: 3, 4: 4 }),
      [at(5), 'gone'],
      [at(8, 1), 'listed'],
      ...nightly({ 8: 20, 9: 22, 10: 24 }),
    ],
    [7, 21, '2026-04-05', null, null, '10'],
  ],
  [
    'the survey was paused on all days',
    nightly(steady(5)),
    [null, null, null, null, null, '10'],
    { status: 'deviating_from_specs' },
  ],
  ['more than ten years to go', nightly({ 3: 44, 10: 45 }, 1e15), [7, 1, null, null, null, '10']],
  ['target removed', [...nightly({ 3: 10 }), [at(10), read(45, null)]], [7, 35, null, null, null, '10']],
  [
    'the last reading has no number of interviews',
    [...nightly({ 1: 1, 4: 10, 9: 20 }), [at(10), read(null)]],
    [8, 19, null, null, null, '09'],
  ],
  [
    'no reading has a number of interviews',
    [9, 10].map((day) => [at(day), read(null)]),
    [null, null, null, null, null, null],
  ],
  [
    'several readings on a day: the last one counts, and the pace ends with the last reading that was equal',
    [
      ...nightly({ 1: 1, 2: 2 }),
      [at(3, 1), read(3)],
      [at(3, 9), read(8)],
      [at(3, 23), read(7)],
      ...nightly({ 8: 7, 10: 7 }),
    ],
    [7, 0, null, null, null, '03'],
  ],
  [
    'a clock that was ten years ahead for a night: that reading is on no day, and later ones are on their own',
    [...nightly({ 1: 5, 2: 7 }), [instantOf('2036-03-03T02:00:00Z'), read(9)], ...nightly({ 4: 11 })],
    [3, 6, '2026-04-18', null, null, '03'],
  ],
]

const perform = async (account: AccountWarehouse, cases: readonly Case[]): Promise<void> => {
  await list(
    account,
    cases.map(([, , , change], place) => survey(place + 1, change)),
    at(1, 0),
    'full',
  )
  // In the order of the readings of each case: the clock of one of them goes back.
  for (let nth = 0; cases.some(([, readings]) => nth < readings.length); nth += 1) {
    const bundles: BundleOutcome[] = []
    for (const [place, [, readings, , change]] of cases.entries()) {
      const [when, what] = readings[nth] ?? []
      if (when === undefined || what === undefined) continue
      const id = place + 1
      if (what === 'listed') await list(account, [survey(id, { ...change, updated_at: when })], when)
      else if (what === 'gone') bundles.push({ kind: what, surveyId: id, at: when })
      else bundles.push(bundle(id, when, [source(id * 10)], what, { sourceProgress: [] }))
    }
    await account.commitBundles(bundles, RUN)
  }
}

/** The pace that the simulation computes on its own has to be the one that was computed by hand, too. */
const expectSound = async ({ rows }: Pick<TestWarehouse, 'rows'>): Promise<void> =>
  expect(await unsoundnessIn({ query: async (sql) => [...(await rows(sql))] })).toEqual([])

const ROW = `pace_days, gained, expected_on::VARCHAR, expected_from::VARCHAR, expected_to::VARCHAR,
  strftime(timezone('UTC', last_gain_at), '%d')`

test('survey_pace gives the pace, the forecast and the last gain of each survey, also in compacted history', async () => {
  const { account, database, rows } = await emptyWarehouse()
  await perform(account, CASES)
  const found = async () =>
    (await rows(`SELECT survey_id, ${ROW} FROM survey_pace WHERE account = 'acme' ORDER BY survey_id`)).map(
      (row) => Object.values(row),
    )
  const named = (all: readonly (readonly unknown[])[]) =>
    all.map(([id, ...cells]) => [CASES[Number(id) - 1]?.[0], ...cells])
  const expected = CASES.map(([what, , expected]) => [what, ...expected])
  expect(named(await found())).toEqual(expected)
  await expectSound({ rows })

  // An account with the same ids changes nothing.
  const other = accountWarehouse(database, 'bolt')
  await perform(other, CASES.slice(1, 4).toReversed())
  await account.compactProgress(at(40), { runId: RUN, at: at(40) })
  expect(named(await found())).toEqual(expected)
})

/** What each night from the first of March on reads: the number of complete interviews, and the status where it is not fieldwork. */
type Statuses = readonly (number | readonly [complete: number, status: Survey['status']])[]

test('survey_pace counts only days in fieldwork', async () => {
  const { account, rows } = await emptyWarehouse()
  const draft = [0, 'draft'] as const
  const pending = (complete: number) => [complete, 'pending'] as const
  const paused = (complete: number) => [complete, 'deviating_from_specs'] as const
  const cases: readonly (readonly [what: string, nights: Statuses, expected: readonly unknown[]])[] = [
    ['opened on the fifth', [draft, draft, pending(0), pending(0), 5, 69, 135, 219, 276, 336], [5, 331, 60]],
    ['opened in the last night', [draft, pending(0), 5], [null, null, 5]],
    ['opened the night before', [draft, pending(0), 5, 69], [1, 64, 64]],
    // A soft launch before the opening is no fieldwork.
    ['a soft launch', [pending(0), pending(9), pending(12), 20, 30, 40], [2, 20, 10]],
    ['paused and open again', [10, 20, 30, paused(33), paused(33), 34, 44, 56], [4, 42, 12]],
    ['paused now', [10, 20, 30, paused(33), paused(33)], [2, 20, 0]],
    ['paused for the week before', [10, 20, 30, ...Array.from({ length: 8 }, () => paused(30))], [2, 20, 0]],
    ['closed', [10, 20, [25, 'data_processing'], [25, 'complete']], [1, 10, 0]],
    // The last 7 of 9 days in fieldwork.
    ['a week before a pause', [1, 11, 12, 13, 14, 15, paused(15), 15, 16, 17, 18, 19], [7, 7, 1]],
  ]
  const ids = cases.map((_, place) => place + 1)
  await list(
    account,
    ids.map((id) => survey(id, { status: 'draft' })),
    at(1, 0),
    'full',
  )
  const listed = new Map<number, Survey['status']>()
  for (let night = 0; night < 12; night += 1) {
    const when = at(night + 1)
    const known = ids.flatMap((id) => {
      const what = cases[id - 1]?.[1][night]
      if (what === undefined) return []
      const [complete, status] = typeof what === 'number' ? [what, 'fieldwork'] : what
      return { id, complete, status }
    })
    const changed = known.filter(({ id, status }) => listed.get(id) !== status)
    const surveys = changed.map(({ id, status }) => survey(id, { status, updated_at: when }))
    if (surveys.length > 0) await list(account, surveys, when)
    for (const { id, status } of changed) listed.set(id, status)
    await account.commitBundles(
      known.map(({ id, complete }) => bundle(id, when, [], read(complete))),
      RUN,
    )
  }
  const found = await rows('SELECT survey_id, pace_days, gained, newest_gain FROM survey_pace ORDER BY ALL')
  expect(
    found.map(({ survey_id, ...row }) => [cases[Number(survey_id) - 1]?.[0], Object.values(row)]),
  ).toEqual(cases.map(([what, , expected]) => [what, expected]))
})

test.each([
  ['one run in the afternoon', [14], 7, 48],
  ['one run at night', [2], 7, 48],
  // The day of the last reading still has four hours.
  ['four runs a day', [2, 8, 14, 20], 7, 44],
  // The run at night shows the evening before, and the runs that follow are of their own day.
  ['four runs a day, opened in the evening', [2, 8, 14, 20], 21, 44],
  ['a run every two hours at night, opened in the evening', [1, 3, 5], 21, 48],
])('%s: the survey opened on the day on which it did', async (_, hours, openedAtHour, per_day) => {
  const { account, database, expectRows } = await emptyWarehouse()
  await storePlan(database, [planLine({ line: 2, survey_id: 1, due_on: '2026-03-18' })])
  const pending = survey(1, { status: 'pending', created_at: at(9, 0) })
  await list(account, [survey(9, { status: 'complete' }), pending], at(9, 1), 'full')
  const openedAt = 13 * 24 + openedAtHour
  let isOpen = false
  for (let day = 10; day <= 16; day += 1)
    for (const hour of hours) {
      const open = day * 24 + hour - openedAt
      const changed = { ...pending, status: 'fieldwork' as const, updated_at: at(day, hour) }
      if (open > 0 && !isOpen) await list(account, [changed], at(day, hour))
      isOpen = open > 0
      await account.commitBundles([bundle(1, at(day, hour), [], read(2 * Math.max(0, open), 240))], RUN)
    }
  await expectRows('SELECT opened_on::VARCHAR AS opened_on, per_day FROM survey_pace WHERE survey_id = 1', [
    { opened_on: '2026-03-13', per_day },
  ])
})

test('nights without a run change neither the pace nor the forecast of a week ago', async () => {
  const { account, rows } = await emptyWarehouse()
  await list(account, [survey(1), survey(2)], at(1, 0), 'full')
  const isUnread = (night: number) => (night > 14 && night < 25) || (night > 32 && night < 36)
  // Days of the pace, its gain, the newest gain, and its days.
  const expected: Readonly<Record<number, readonly (number | null)[]>> = {
    25: [11, 110, 110, 11],
    26: [12, 120, 10, 1],
    36: [7, 70, 40, 4],
    48: [7, 70, 10, 1],
  }
  for (let night = 1; night <= 48; night += 1) {
    if (isUnread(night)) continue
    const bundles = [bundle(1, at(night), [], read(10 * night, 700)), bundle(2, at(night), [], read(40, 700))]
    await account.commitBundles(bundles, RUN)
    if (!(night in expected)) continue
    const found = await rows(
      'SELECT pace_days, gained, newest_gain, newest_gain_days FROM survey_pace ORDER BY survey_id',
    )
    const { pace_days, newest_gain_days } = found[1] ?? {}
    expect([night, ...found.map((row) => Object.values(row))]).toEqual([
      night,
      expected[night],
      [pace_days, 0, 0, newest_gain_days],
    ])
    if (night === 25) await expectSound({ rows })
    if (night === 48)
      // The first is as fast as ever, and nothing else.
      expect(await rows('SELECT kind FROM needs_action WHERE survey_id = 1')).toEqual([])
  }
})

test('reconstructed days count until a week was observed, and then neither in the pace nor in the interval', async () => {
  const { account, cells } = await emptyWarehouse()
  // The first goes on. The second is paused after its first night, and opens again on the eighth.
  const PAUSED = [2, 8] as const
  const statusOn = (night: number) =>
    night >= PAUSED[0] && night < PAUSED[1] ? 'deviating_from_specs' : 'fieldwork'
  await list(account, [survey(1), survey(2)], at(1, 0), 'full')
  const found = new Map<number, unknown>()
  for (let night = 1; night <= 10; night += 1) {
    if (PAUSED.some((change) => change === night))
      await list(account, [survey(2, { status: statusOn(night), updated_at: at(night) })], at(night))
    await account.commitBundles(
      [1, 2].map((id) => bundle(id, at(night), [], read(200 + 5 * night, 400))),
      RUN,
    )
    if (night === 1)
      // 20 a day, or 30: far from the 5 a day of the readings.
      for (const id of [1, 2])
        for (const days of [1, 2, 3, 4, 5, 6, 7])
          await account.commitReconstructed(
            [reconstructed(id, [days], read(205 - 25 * days - 5 * (days % 2), 400), at(1))],
            RUN,
          )
    if (![1, 5, 8, 10].includes(night)) continue
    const paces = await cells(
      `SELECT pace_days, reconstructed_days, gained, (expected_to - expected_on)::INT AS width FROM survey_pace ORDER BY survey_id`,
    )
    found.set(night, paces)
  }
  // Four days later, four observed gains and three reconstructed ones. Without a spread only the pace may change.
  expect(found.get(1)).toEqual([
    [7, 7, 180, 3],
    [7, 7, 180, 3],
  ])
  expect(found.get(5)).toEqual([
    [7, 3, 100, 12],
    [7, 7, 180, null],
  ])
  // A week is observed: 35 in seven days, which never vary.
  expect(found.get(8)).toEqual([
    [7, 0, 35, 12],
    [null, null, null, null],
  ])
  expect(found.get(10)).toEqual([
    [7, 0, 35, 11],
    [2, 0, 10, null],
  ])
})

test('survey_pace gives the newest gain, and says how many days it covers', async () => {
  const { account, expectRows } = await emptyWarehouse()
  const cases: readonly (readonly [
    gained: number | null,
    days: number | null,
    readings: readonly Reading[],
    change?: Partial<Survey>,
  ])[] = [
    [7, 1, nightly({ 8: 3, 9: 5, 10: 12 })],
    // A closed survey that did not change since the third.
    [0, 1, nightly({ 2: 3, 3: 5, 4: 5, 9: 5, 10: 5 }), { status: 'complete' }],
    [0, 1, nightly({ 9: 5, 10: 5 })],
    [-2, 1, nightly({ 9: 5, 10: 3 })],
    // The last reading of each day counts: at 01:00 that of the day before. At 09:00 the tenth has hardly begun.
    [
      3,
      1,
      [
        [at(9, 1), read(1)],
        [at(9, 9), read(3)],
        [at(10, 1), read(4)],
        [at(10, 9), read(12)],
      ],
    ],
    // Nobody knows how many of them came in on the last day.
    [20, 3, nightly({ 7: 5, 10: 25 })],
    [0, 1, nightly({ 7: 5, 10: 5 })],
    [null, null, nightly({ 10: 5 })],
    [null, null, [...nightly({ 9: 5 }), [at(10), read(null)]]],
  ]
  await perform(
    account,
    cases.map(([, , readings, change]) => ['a gain', readings, [], change ?? {}]),
  )
  await expectRows(
    'SELECT newest_gain, newest_gain_days FROM survey_pace ORDER BY survey_id',
    cases.map(([gained, days]) => [gained, days]),
  )
})

test('taken_back adds up the falls of the last seven known days', async () => {
  const { account, expectRows } = await emptyWarehouse()
  const cases: readonly (readonly [takenBack: number, readings: readonly Reading[]])[] = [
    [0, nightly({ 10: 5 })],
    [0, nightly(steady(5))],
    [5, nightly({ 6: 20, 7: 17, 8: 25, 9: 25, 10: 23 })],
    // Ten days are known: the fall on the third is too old, and that on the fourth is not.
    [1, nightly({ ...steady(0, 20), 1: 22, 2: 22, 3: 21 })],
    [0, nightly({ ...steady(0, 20), 1: 22, 2: 22 })],
    // Of a day, the last reading counts: what came in hides what was taken back.
    [
      0,
      [
        [at(9), read(20)],
        [at(10, 13), read(15)],
        [at(10), read(21)],
      ],
    ],
    [4, [...nightly({ 8: 20 }), [at(9), read(null)], ...nightly({ 10: 16 })]],
  ]
  await perform(
    account,
    cases.map(([, readings]) => ['a fall', readings, []]),
  )
  await expectRows(
    'SELECT taken_back FROM survey_pace ORDER BY survey_id',
    cases.map(([takenBack]) => [takenBack]),
  )
})

test('survey_pace shows surveys that the API shows, with their own columns, if their progress is known', async () => {
  const { account, expectRows } = await emptyWarehouse()
  await list(account, [survey(1, { project_id: 'P', title: 'One' }), survey(2), survey(3)], at(1), 'full')
  for (const id of [1, 2])
    await account.commitBundles([bundle(id, at(1, 3), [source(10 * id)], read(7))], RUN)
  await account.commitBundles([{ kind: 'gone', surveyId: 2, at: at(3) }], RUN)
  await expectRows('SELECT * FROM survey_pace', [
    {
      account: 'acme',
      survey_id: 1,
      title: 'One',
      project_id: 'P',
      status: 'fieldwork',
      sample_size: 100,
      interviews_count: 7,
      completion_rate: 7 / 200,
      refreshed_at: '2026-03-01T03:00:00Z',
      last_gain_at: null,
      pace_days: null,
      gained: null,
      per_day: null,
      expected_per_day: null,
      newest_gain: null,
      newest_gain_days: null,
      reconstructed_days: null,
      taken_back: 0,
      expected_on: null,
      expected_from: null,
      expected_to: null,
      slowest_source_id: null,
      slowest_source_on: null,
      due_on: null,
      due_note: null,
      starts_on: null,
      owner: null,
      quiet_until: null,
      deadline: null,
      needed_per_day: null,
      needed_text: null,
      target_incidence_rate: null,
      recent_incidence_rate: null,
      earlier_incidence_rate: null,
      drop_out_rate: 0,
      recent_drop_out_rate: null,
      earlier_drop_out_rate: null,
      recent_complete_rate: null,
      recent_quota_full_rate: null,
      earlier_quota_full_rate: null,
      recent_interviews: null,
      earlier_interviews: null,
      recent_screened: null,
      earlier_screened: null,
      sold_incidence: null,
      sold_loi_minutes: null,
      length_of_interview: 300,
      launch_incidence_rate: null,
      opened_on: null,
      expected_by_today: null,
      cost: null,
      cost_at_target: null,
      currency: null,
    },
  ])
})

test('survey_pace knows the due date of a survey, or else of its project', async () => {
  const { account, database, expectRows } = await emptyWarehouse()
  // 5 a day, and 55 are missing on 10 March: expected on 21 March.
  const surveys = ['P', 'P', 'p', null, 'Q', 'P'].map(
    (project_id): Case => ['', nightly(steady(5)), [], { project_id }],
  )
  await perform(account, surveys)
  await perform(accountWarehouse(database, 'bolt'), surveys.slice(0, 1))
  // The account was read again four days later, but not the sixth survey. The fourth may be ready on that day.
  const later = [1, 2, 3, 4, 5].map((id) => bundle(id, at(14), [source(id * 10)], read(id === 4 ? 98 : 65)))
  await account.commitBundles(later, RUN)
  let line = 1
  const due = (survey_id: number | null, project_id: string | null, due_on: string, note: string | null) => {
    line += 1
    return planLine({ survey_id, project_id, due_on, note, line })
  }
  const rows = [
    ...[
      due(1, null, '2026-03-15', null),
      due(null, 'P', '2026-04-17', 'board'),
      due(4, null, '2026-03-14', null),
      due(5, null, '2026-03-14', ''),
    ],
    ...[
      due(6, null, '2026-03-13', 'old'),
      due(99, null, '2026-03-31', null),
      due(null, 'R', '2026-03-31', null),
    ],
  ]
  const expected = [
    ['acme', 1, '2026-03-15', null, 'late', 35],
    ['acme', 2, '2026-04-17', 'board', 'on_time', 35 / 34],
    ['acme', 3, null, null, null, null],
    ['acme', 4, '2026-03-14', null, 'at_risk', null],
    ['acme', 5, '2026-03-14', '', 'late', null],
    ['acme', 6, '2026-03-13', 'old', 'late', null],
    ['bolt', 1, null, null, null, null],
  ]
  const found =
    'SELECT account, survey_id, due_on::VARCHAR, due_note, deadline, needed_per_day FROM survey_pace ORDER BY ALL'
  expect(await storePlan(database, rows)).toEqual({ stored: 7, unknown: 2 })
  await expectRows(found, expected)
  // A file that cannot be read keeps them, an empty one does not.
  expect(await storePlan(database, null)).toEqual({ stored: 7, unknown: 2 })
  await expectRows('SELECT count(*)::INT FROM plan', [[7]])
  expect(await storePlan(database, rows.slice(0, 1))).toEqual({ stored: 1, unknown: 0 })
  await expectRows('SELECT survey_id, due_on::VARCHAR FROM plan', [[1, '2026-03-15']])
  expect(await storePlan(database, [])).toEqual({ stored: 0, unknown: 0 })
})

const counts = (complete: number, screenOut: number | null, incomplete: number | null, change = {}) =>
  progress(complete, { screen_out_individuals: screenOut, incomplete_individuals: incomplete, ...change })

test('survey_pace compares incidence and drop-out of the last interviews with those before', async () => {
  const { account, rows } = await emptyWarehouse()
  const unknown = (individuals: number) => ({
    _extra: JSON.stringify({
      interview_count_by_status: { abducted: { individuals }, odd: { individuals: 'many' } },
    }),
  })
  const surveys: readonly (readonly Progress[])[] = [
    [counts(60, 20, 20), counts(90, 30, 80)],
    // An unknown status counts as an interview.
    [counts(60, 20, 20, unknown(100)), counts(90, 30, 80, unknown(200))],
    // Complete and incomplete interviews were taken away.
    [counts(60, 20, 20), counts(50, 30, 10)],
    // Screened-out interviews were ignored: more were dropped than came in.
    [counts(60, 20, 20), counts(60, 10, 25)],
    // Nothing came in.
    [counts(0, 0, 0), counts(0, 0, 0)],
    [counts(60, null, null), counts(90, 30, 10)],
    // One known day is no pace.
    [counts(90, 30, 10)],
  ]
  await list(
    account,
    surveys.map((_, place) => survey(place + 1)),
    at(1, 0),
  )
  for (const night of [0, 1])
    await account.commitBundles(
      surveys.flatMap(({ [night]: reading }, place) =>
        reading === undefined ? [] : [bundle(place + 1, at(1 + night), [source(place)], reading)],
      ),
      RUN,
    )
  expect(
    (
      await rows(`SELECT recent_incidence_rate, earlier_incidence_rate, recent_drop_out_rate, earlier_drop_out_rate
        FROM survey_pace ORDER BY survey_id`)
    ).map((row) => Object.values(row)),
  ).toEqual([
    [30 / 40, 60 / 80, 60 / 100, 20 / 100],
    [30 / 40, 60 / 80, 60 / 200, 20 / 200],
    [null, 60 / 80, null, 20 / 100],
    [null, 60 / 80, null, 20 / 100],
    [null, null, null, null],
    [null, null, null, null],
    [null, null, null, null],
  ])
})
