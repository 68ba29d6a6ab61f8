/** What came in, held against what was sold and planned, for readings whose results were computed by hand. */
import { expect, test } from 'vitest'
import type { Progress, SampleSource, Survey } from '../../../../src/model/fields.js'
import type { PlanLine } from '../../../../src/model/tables.js'
import type { AccountWarehouse } from '../../../../src/model/warehouse.js'
import { storePlan } from '../../../../src/warehouse/plan.js'
import { hourOf } from '../../../support/time/instants.js'
import { bundle, list, planLine, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

/** In the afternoon, so a reading belongs to the day on which it takes place. */
const at = (day: number) => hourOf(day, 14)

const lines = (...changes: readonly Partial<PlanLine>[]): readonly PlanLine[] =>
  changes.map((change, place) => planLine({ line: place + 2, ...change }))

const counts = (complete: number, screenOut: number, change: Partial<Progress> = {}): Progress =>
  progress(complete, {
    sample_size: 100,
    screen_out_individuals: screenOut,
    incomplete_individuals: 0,
    target_incidence_rate: complete + screenOut === 0 ? null : complete / (complete + screenOut),
    ...change,
  })

test('survey_pace has incidence at launch, overall and of the last days, and length, beside what was sold', async () => {
  const { account, database, rows } = await emptyWarehouse()
  const opening = survey(1, { status: 'pending' })
  await list(account, [opening, survey(2, { project_id: 'P' }), survey(3)], at(1), 'full')
  // The first survey opens on the second: its launch ends with the fourth. The second is in fieldwork already.
  await list(account, [{ ...opening, status: 'fieldwork', updated_at: at(2) }], at(2))
  const read = async (day: number, complete: number, screenOut: number, seconds: number) =>
    account.commitBundles(
      [1, 2, 3].map((id) =>
        bundle(id, at(day), [], counts(complete, screenOut, { length_of_interview: seconds })),
      ),
      RUN,
    )
  const sql = `SELECT sold_incidence, launch_incidence_rate, target_incidence_rate, recent_incidence_rate,
      sold_loi_minutes, length_of_interview FROM survey_pace ORDER BY survey_id`
  const found = async () => (await rows(sql)).map((row) => Object.values(row))
  await storePlan(
    database,
    lines(
      { survey_id: 1, incidence: 0.45, loi_minutes: 10 },
      { project_id: 'P', incidence: 0.3, starts_on: '2026-03-05' },
    ),
  )
  await read(2, 2, 2, 500)
  await read(3, 4, 6, 600)
  expect((await found())[0]).toEqual([0.45, null, 0.4, 2 / 6, 10, 600])
  await read(4, 6, 14, 700)
  // The launch has ended.
  expect((await found())[0]).toEqual([0.45, 0.3, 0.3, 4 / 16, 10, 700])
  for (let day = 5; day <= 13; day += 1) await read(day, 2 * day - 2, 10 * day - 26, 840)
  expect(await found()).toEqual([
    [0.45, 0.3, 24 / 128, 14 / 84, 10, 840],
    // It was in fieldwork on the first, before its starts_on, so its launch ends with the third.
    [0.3, 4 / 10, 24 / 128, 14 / 84, null, 840],
    [null, null, 24 / 128, 14 / 84, null, 840],
  ])
})

test('expected_by_today is on a straight line from the opening to the target on the due date', async () => {
  const { account, database, cells } = await emptyWarehouse()
  const cases: readonly (readonly [
    what: string,
    statuses: Readonly<Record<number, Survey['status']>>,
    plan: Partial<PlanLine>,
    expected: readonly [opened: string | null, expected: number | null],
    target?: number | null,
  ])[] = [
    ['opened on the third: 8 of 20 days', { 1: 'pending', 3: 'fieldwork' }, {}, ['2026-03-03', 40]],
    [
      'opened earlier than planned',
      { 1: 'draft', 3: 'fieldwork' },
      { starts_on: '2026-03-08' },
      ['2026-03-03', 40],
    ],
    [
      'a pause does not move it',
      { 1: 'pending', 3: 'fieldwork', 5: 'deviating_from_specs', 7: 'fieldwork' },
      {},
      ['2026-03-03', 40],
    ],
    ['in fieldwork when first read', { 1: 'fieldwork' }, {}, [null, null]],
    [
      'in fieldwork when first read, planned from 21 February on: 18 of 30 days',
      { 1: 'fieldwork' },
      { starts_on: '2026-02-21' },
      ['2026-02-21', 60],
    ],
    [
      'paused when first read: it had opened before',
      { 1: 'deviating_from_specs', 3: 'fieldwork' },
      {},
      [null, null],
    ],
    ['new, and in fieldwork when first read: 6 of 18 days', { 5: 'fieldwork' }, {}, ['2026-03-05', 100 / 3]],
    ['not opened, nor planned', { 1: 'pending' }, {}, [null, null]],
    [
      'not opened, but planned: 5 of 17 days',
      { 1: 'pending' },
      { starts_on: '2026-03-06' },
      ['2026-03-06', 500 / 17],
    ],
    ['planned for later', { 1: 'pending' }, { starts_on: '2026-03-16' }, ['2026-03-16', 0]],
    ['due since the sixth', { 1: 'pending', 3: 'fieldwork' }, { due_on: '2026-03-06' }, ['2026-03-03', 100]],
    [
      'due before it opened',
      { 1: 'pending', 3: 'fieldwork' },
      { due_on: '2026-03-02' },
      ['2026-03-03', null],
    ],
    ['no due date', { 1: 'pending', 3: 'fieldwork' }, { due_on: null }, ['2026-03-03', null]],
    ['no target', { 1: 'pending', 3: 'fieldwork' }, {}, ['2026-03-03', null], null],
    ['target 0', { 1: 'pending', 3: 'fieldwork' }, {}, ['2026-03-03', null], 0],
  ]
  for (let day = 1; day <= 10; day += 1) {
    const changed = cases.flatMap(([, { [day]: status }], place) =>
      status === undefined
        ? []
        : [survey(place + 1, { status, updated_at: at(day), ...(day === 5 ? { created_at: at(4) } : {}) })],
    )
    await list(account, changed, at(day), day === 1 ? 'full' : 'incremental')
  }
  await account.commitBundles(
    cases.map(([, , , , target = 100], place) =>
      bundle(place + 1, at(10), [], counts(10, 0, { sample_size: target })),
    ),
    RUN,
  )
  await storePlan(
    database,
    lines(...cases.map(([, , plan], place) => ({ survey_id: place + 1, due_on: '2026-03-22', ...plan }))),
  )
  const found = await cells(
    'SELECT opened_on::VARCHAR, round(expected_by_today, 9) FROM survey_pace ORDER BY survey_id',
  )
  const named = (all: readonly (readonly unknown[])[]) => all.map((row, place) => [cases[place]?.[0], ...row])
  expect(named(found)).toEqual(
    named(
      cases.map(([, , , [opened, expected]]) => [
        opened,
        expected === null ? null : Number(expected.toFixed(9)),
      ]),
    ),
  )
})

/** Each source of the survey, with its complete interviews; null if its progress is not known. */
const storeSources = async (
  account: AccountWarehouse,
  surveyId: number,
  sources: readonly (readonly [SampleSource, number | null])[],
  target: number | null = 200,
) => {
  await list(account, [survey(surveyId)], at(1))
  const all = sources.map(([one]) => one)
  const whole = sources.reduce((sum, [, complete]) => sum + (complete ?? 0), 0)
  const sourceProgress = sources.flatMap(([{ id }, complete]) =>
    complete === null ? [] : [{ sampleSourceId: id, progress: counts(complete, 3), at: at(1) }],
  )
  await account.commitBundles(
    [bundle(surveyId, at(1), all, counts(whole, 9, { sample_size: target }), { sourceProgress })],
    RUN,
  )
}

const panel = (id: number) => source(id, { name: `Panel ${id}` })

const COSTS: readonly (readonly [
  what: string,
  sources: readonly (readonly [SampleSource, number | null])[],
  plan: readonly Partial<PlanLine>[],
  costs: readonly [cost: number | null, atTarget: number | null, currency: string | null],
  target?: number | null,
])[] = [
  [
    'each source at its own price: 30 at 3.8, 20 at 4.5, so 50 cost 204, and 200 cost 816',
    [
      [panel(11), 30],
      [panel(12), 20],
    ],
    [
      { survey_id: 1, cpi: 4.5, currency: 'EUR' },
      { sample_source_id: 11, cpi: 3.8, currency: 'EUR', supplier: 'North' },
    ],
    [204, 816, 'EUR'],
  ],
  [
    'a source without interviews needs no price',
    [
      [panel(11), 3],
      [panel(12), 0],
    ],
    [{ sample_source_id: 11, cpi: 0.1, currency: 'USD' }],
    [0.3, 20, 'USD'],
  ],
  [
    'a source with interviews has no price',
    [
      [panel(11), 10],
      [panel(12), 1],
    ],
    [{ sample_source_id: 11, cpi: 2, currency: 'USD' }],
    [null, null, 'USD'],
  ],
  [
    'the progress of a source is not known',
    [
      [panel(11), 10],
      [panel(12), null],
    ],
    [{ survey_id: 1, cpi: 2, currency: 'USD' }],
    [null, null, 'USD'],
  ],
  [
    'two currencies',
    [
      [panel(11), 10],
      [panel(12), 10],
    ],
    [
      { sample_source_id: 11, cpi: 2, currency: 'USD' },
      { sample_source_id: 12, cpi: 2, currency: 'EUR' },
    ],
    [null, null, null],
  ],
  [
    'a source in another currency has no interviews',
    [
      [panel(11), 10],
      [panel(12), 0],
    ],
    [
      { sample_source_id: 11, cpi: 2, currency: 'USD' },
      { sample_source_id: 12, cpi: 2, currency: 'EUR' },
    ],
    [20, 400, 'USD'],
  ],
  [
    'two currencies, and no interviews yet',
    [
      [panel(11), 0],
      [panel(12), 0],
    ],
    [
      { sample_source_id: 11, cpi: 2, currency: 'USD' },
      { sample_source_id: 12, cpi: 2, currency: 'EUR' },
    ],
    [null, null, null],
  ],
  ['no interviews yet', [[panel(11), 0]], [{ survey_id: 1, cpi: 2, currency: 'EUR' }], [0, null, 'EUR']],
  ['no price', [[panel(11), 0]], [{ survey_id: 1, incidence: 0.5 }], [null, null, null]],
  ['no source', [], [{ survey_id: 1, cpi: 2, currency: 'EUR' }], [null, null, null]],
  ['no target', [[panel(11), 7]], [{ survey_id: 1, cpi: 3, currency: 'EUR' }], [21, null, 'EUR'], null],
]

test('survey_pace has the cost of a survey: the sum of its sources, each at its price', async () => {
  const { account, database, cells } = await emptyWarehouse()
  // Each case is a survey, with sources of its own.
  const idIn = (place: number, id: number) => id + 10 * place
  for (const [place, [, sources, , , target = 200]] of COSTS.entries()) {
    const own = sources.map(([{ id }, complete]) => [panel(idIn(place, id)), complete] as const)
    await storeSources(account, idIn(place, 1), own, target)
  }
  const plans = COSTS.flatMap(([, , plan], place) =>
    plan.map(({ survey_id, sample_source_id, ...line }) => ({
      ...line,
      ...(survey_id ? { survey_id: idIn(place, survey_id) } : {}),
      ...(sample_source_id ? { sample_source_id: idIn(place, sample_source_id) } : {}),
    })),
  )
  await storePlan(database, lines(...plans))
  const found = await cells('SELECT cost, cost_at_target, currency FROM survey_pace ORDER BY survey_id')
  expect(found.map((costs, place) => [COSTS[place]?.[0], ...costs])).toEqual(
    COSTS.map(([what, , , costs]) => [what, ...costs]),
  )
  const known = COSTS.flatMap(([, , , [cost]], place) =>
    cost === null ? [] : [[idIn(place, 1), cost, true]],
  )
  const ofSources = await cells(`SELECT survey_id, sum(cost), count(*) = count(cost) FROM source_overview
    WHERE survey_id IN (${known.map(([id]) => id)}) GROUP BY ALL ORDER BY survey_id`)
  expect(ofSources).toEqual(known)
})

test('the cost of a survey keeps what a source had when it went missing', async () => {
  const { account, database, cells } = await emptyWarehouse()
  // Of the third, nothing was read before it went missing.
  await storeSources(account, 1, [
    [panel(11), 30],
    [panel(12), 20],
    [panel(13), null],
  ])
  await storePlan(database, lines({ survey_id: 1, cpi: 4, currency: 'EUR' }))
  const sourceProgress = [{ sampleSourceId: 12, progress: counts(24, 0), at: at(2) }]
  await account.commitBundles([bundle(1, at(2), [panel(12)], counts(24, 9), { sourceProgress })], RUN)
  expect(await cells('SELECT cost, currency FROM survey_pace')).toEqual([[(30 + 24) * 4, 'EUR']])
  expect(await cells('SELECT sample_source_id, cost FROM source_overview')).toEqual([[12, 24 * 4]])
})

test('source_overview has what was sold for each source, and what came in', async () => {
  const warehouse = await emptyWarehouse()
  await storeSources(warehouse.account, 1, [
    [panel(11), 30],
    [panel(12), 20],
    [panel(13), null],
  ])
  await storePlan(
    warehouse.database,
    lines(
      { survey_id: 1, cpi: 4.5, currency: 'EUR', incidence: 0.5, loi_minutes: 10 },
      { source: 'Panel*1', cpi: 3.8, currency: 'CHF', supplier: 'North', incidence: 0.25 },
    ),
  )
  await warehouse.expectRows(
    `SELECT sample_source_id, supplier, sold_incidence, target_incidence_rate, sold_loi_minutes, length_of_interview, cpi, currency, cost
      FROM source_overview ORDER BY sample_source_id`,
    [
      [11, 'North', 0.25, 30 / 33, 10, 300, 3.8, 'CHF', 114],
      [12, null, 0.5, 20 / 23, 10, 300, 4.5, 'EUR', 90],
      [13, null, 0.5, null, 10, null, 4.5, 'EUR', null],
    ],
  )
  await warehouse.account.commitBundles(
    [bundle(1, at(2), [panel(11)], counts(31, 9), { sourceProgress: [] })],
    RUN,
  )
  // What the missing source had is paid in another currency.
  await warehouse.expectRows('SELECT cost, currency FROM survey_pace', [[null, null]])
})

test('source_overview counts what the interviews of a source are worth, as far as that is known', async () => {
  const { account, database, expectRows } = await emptyWarehouse()
  await list(account, [survey(1)], at(1), 'full')
  const known = {
    ...{ speeder_individuals: 2, straightliner_individuals: 1, failed_quality_check_individuals: 3 },
    ...{
      inappropriate_language_individuals: 0,
      manual_action_individuals: 4,
      pending_analysis_individuals: 5,
    },
    ...{ quota_full_individuals: 6, length_of_interview: 750 },
  }
  const none = { speeder_individuals: 0, quota_full_individuals: 0, length_of_interview: null }
  const further = JSON.stringify({ interview_count_by_status: { abducted: { individuals: 9 } } })
  const sources: readonly (Progress | null)[] = [
    counts(24, 6, known),
    counts(24, 6, { ...known, _extra: further }),
    counts(0, 0, none),
    counts(0, 0, { ...none, speeder_individuals: 3 }),
    counts(0, 0, { complete_individuals: null, screen_out_individuals: null, incomplete_individuals: null }),
    null,
  ]
  await account.commitBundles(
    [
      bundle(
        1,
        at(1),
        sources.map((_, place) => panel(11 + place)),
        counts(48, 12),
        {
          sourceProgress: sources.flatMap((one, place) =>
            one === null ? [] : [{ sampleSourceId: 11 + place, progress: one, at: at(1) }],
          ),
        },
      ),
    ],
    RUN,
  )
  await storePlan(database, lines({ source: 'Panel*', cpi: 4, currency: 'EUR' }))
  await expectRows(
    `SELECT total_interviews, rejected, rejected_rate, undecided, quota_full_rate, loi_minutes, cost_per_good, currency
      FROM source_overview ORDER BY sample_source_id`,
    [
      [51, 6, 0.2, 9, 6 / 51, 12.5, 5, 'EUR'],
      [60, 6, 0.2, 9, 0.1, 12.5, 5, 'EUR'],
      [0, 0, null, null, null, null, null, 'EUR'],
      [3, 3, 1, null, 0, null, null, 'EUR'],
      [null, null, null, null, null, 5, null, 'EUR'],
      [null, null, null, null, null, null, null, 'EUR'],
    ],
  )
})

test('a soft launch counts interviews of every status, as the pace does', async () => {
  const { account, expectRows, rows } = await emptyWarehouse()
  await list(account, [survey(1, { status: 'pending' })], at(1), 'full')
  const further = (individuals: number) =>
    JSON.stringify({ interview_count_by_status: { abducted: { individuals } } })
  const read = (day: number, abducted: number) =>
    account.commitBundles(
      [bundle(1, at(day), [], counts(40, 0, { incomplete_individuals: 20, _extra: further(abducted) }))],
      RUN,
    )
  await read(1, 0)
  await expectRows('SELECT text FROM needs_action', [['soft launch: drop-out 33%']])
  // 20 of 80 are below the level.
  await read(2, 20)
  expect(await rows('SELECT text FROM needs_action')).toEqual([])
})
