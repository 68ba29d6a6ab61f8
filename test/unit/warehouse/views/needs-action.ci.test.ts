/** Each rule of needs_action, on both sides of its limit. */
import { sort } from 'd3-array'
import { expect, test } from 'vitest'
import { selectRows } from '../../../../src/commands/export/files.js'
import type { Progress, Survey } from '../../../../src/model/fields.js'
import type { Instant } from '../../../../src/model/instant.js'
import { storeForecasts } from '../../../../src/warehouse/history/forecasts.js'
import { storePlan } from '../../../../src/warehouse/plan.js'
import { needsAction } from '../../../../src/warehouse/views/needs-action.js'
import { minute } from '../../../support/time/instants.js'
import { bundle, list, planLine, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

/** An afternoon of March 2026, UTC, so that a reading belongs to the day on which it takes place. */
const at = (night: number): Instant => minute((night - 1) * 1440 + 840)
const NIGHTS = 20

type Night = Partial<Progress> & { readonly complete: number }

interface Case {
  /** The status in each night; fieldwork by default. */
  readonly status?: (night: number) => Survey['status']
  readonly night: (night: number) => Night
  readonly due?: string
  /** Complete interviews of the sources of the last night, each with a target of 100. */
  readonly sources?: readonly number[]
  readonly expected: readonly (readonly [kind: string, urgency: number, since: string | null, text: string])[]
}

const steady = (perNight: number) => (night: number) => ({ complete: perNight * night })
const after = (night: number, status: Survey['status']) => (now: number) =>
  now >= night ? status : 'fieldwork'

const CASES: Readonly<Record<string, Case>> = {
  'all is well': { night: steady(5), expected: [] },
  // 100 of 200, at 5 a day: expected on 9 April, or from 5 to 16 April.
  'due on the last day of the interval': { ...{ night: steady(5), due: '2026-04-16' }, expected: [] },
  'due a day before the end of the interval': {
    ...{ night: steady(5), due: '2026-04-15' },
    expected: [
      ['at_risk', 2, null, 'due 15 April, expected 9 April or as late as 16 April: needs 3.9 a day, has 5'],
    ],
  },
  'due on the expected day': {
    ...{ night: steady(5), due: '2026-04-09' },
    expected: [
      ['at_risk', 2, null, 'due 9 April, expected 9 April or as late as 16 April: needs 5 a day, has 5'],
    ],
  },
  'due a day before the expected one': {
    ...{ night: steady(5), due: '2026-04-08' },
    expected: [['late', 0, null, 'due 8 April, expected 9 April: needs 5.3 a day, has 5']],
  },
  'due tomorrow': {
    ...{ night: steady(5), due: '2026-03-21' },
    expected: [['late', 0, null, 'due 21 March, expected 9 April: needs 100 a day, has 5']],
  },
  'due today': {
    ...{ night: steady(5), due: '2026-03-20' },
    expected: [['late', 0, null, 'due 20 March, 100 missing']],
  },
  'due in another year': {
    ...{ night: steady(5), due: '2025-12-31' },
    expected: [['late', 0, null, 'was due 31 December 2025, 100 missing']],
  },
  'due yesterday, and reached today': {
    ...{ night: (night) => ({ complete: 5 * night, sample_size: 100 }), due: '2026-03-19' },
    expected: [],
  },
  'due yesterday, without a target': {
    ...{ night: (night) => ({ complete: 5 * night, sample_size: 0 }), due: '2026-03-19' },
    expected: [],
  },
  'due yesterday, and closed': {
    ...{ night: () => ({ complete: 5 }), status: after(12, 'complete'), due: '2026-03-19' },
    expected: [],
  },
  'due tomorrow, and opened yesterday': {
    ...{ night: steady(5), status: (night) => (night < 19 ? 'pending' : 'fieldwork'), due: '2026-03-21' },
    expected: [],
  },
  'due today, and not opened': {
    ...{ night: () => ({ complete: 0 }), status: () => 'pending', due: '2026-03-20' },
    expected: [['late', 0, null, 'due 20 March, 200 missing']],
  },
  'due, and never a gain': {
    ...{ night: () => ({ complete: 0 }), due: '2026-04-09' },
    expected: [
      ['late', 0, null, 'due 9 April, stands still: needs 10 a day'],
      ['no_complete', 1, '01', 'no complete interview since it opened at least 19 days ago'],
    ],
  },
  'due, and out of sight': {
    ...{ night: (night) => ({ complete: night, sample_size: 30_020 }), due: '2026-04-09' },
    expected: [
      ['far', 2, null, 'target out of sight'],
      ['late', 0, null, 'due 9 April, out of sight: needs 1500 a day, has 1'],
    ],
  },
  'paused, and in time if it goes on now': {
    ...{ night: steady(5), status: after(20, 'deviating_from_specs'), due: '2026-04-09' },
    expected: [
      ['at_risk', 2, null, 'due 9 April, paused: needs 5 a day, had 5'],
      ['paused', 1, '20', 'paused'],
    ],
  },
  'paused, and late even if it goes on now': {
    ...{ night: steady(5), status: after(20, 'deviating_from_specs'), due: '2026-04-08' },
    expected: [
      ['late', 0, null, 'due 8 April, paused: needs 5.3 a day, had 5'],
      ['paused', 1, '20', 'paused'],
    ],
  },
  'paused, and never seen in fieldwork': {
    ...{ night: () => ({ complete: 0 }), status: () => 'deviating_from_specs', due: '2026-04-09' },
    expected: [
      ['at_risk', 2, null, 'due 9 April, paused: needs 10 a day'],
      ['paused', 1, '01', 'paused for 19 days'],
    ],
  },
  'paused today': {
    ...{ night: steady(5), status: after(20, 'deviating_from_specs') },
    expected: [['paused', 1, '20', 'paused']],
  },
  'paused yesterday': {
    ...{ night: steady(5), status: after(19, 'deviating_from_specs') },
    expected: [['paused', 1, '19', 'paused for 1 day']],
  },
  closed: { night: () => ({ complete: 5 }), status: after(12, 'complete'), expected: [] },
  'no gain for three days': {
    night: (night) => ({ complete: 5 * Math.min(17, night) }),
    expected: [['slips', 2, null, 'slips 21 days']],
  },
  'no gain for four days': {
    night: (night) => ({ complete: 5 * Math.min(16, night) }),
    expected: [
      ['slips', 2, null, 'slips 36 days'],
      ['stands_still', 1, '16', 'no complete interview for 4 days'],
    ],
  },
  'no gain for four days, but reached': {
    night: (night) => ({ complete: 5 * Math.min(16, night), sample_size: 80 }),
    expected: [],
  },
  'never a gain': {
    night: () => ({ complete: 0 }),
    expected: [['no_complete', 1, '01', 'no complete interview since it opened at least 19 days ago']],
  },
  'never a gain, and open for two days': {
    ...{ night: () => ({ complete: 0 }), status: (night) => (night < 18 ? 'pending' : 'fieldwork') },
    expected: [['no_complete', 1, '18', 'no complete interview since it opened 2 days ago']],
  },
  'never a gain, and opened today': {
    ...{ night: () => ({ complete: 0 }), status: (night) => (night < 20 ? 'pending' : 'fieldwork') },
    expected: [],
  },
  'no gain in a pause that ended yesterday': {
    night: (night) => ({ complete: 5 * Math.min(10, night) }),
    status: (night) => (night > 10 && night < 19 ? 'deviating_from_specs' : 'fieldwork'),
    expected: [],
  },
  reached: { night: (night) => ({ complete: 5 * night, sample_size: 100 }), expected: [] },
  'over target': {
    night: (night) => ({ complete: 5 * night, sample_size: 98 }),
    expected: [['over_target', 1, null, 'over target by 2, still open']],
  },
  'over target and closed': {
    ...{ night: (night) => ({ complete: 5 * night, sample_size: 98 }), status: after(20, 'complete') },
    expected: [],
  },
  'without a target': { night: (night) => ({ complete: 5 * night, sample_size: 0 }), expected: [] },
  'slower than a week ago': {
    night: (night) => ({ complete: night < 13 ? 8 * night : 96 + 2 * (night - 12) }),
    expected: [['slips', 2, null, 'slips 36 days']],
  },
  'nearly as fast as a week ago': {
    night: (night) => ({ complete: night < 13 ? 6 * night : 72 + 5 * (night - 12) }),
    expected: [],
  },
  'far away': {
    night: (night) => ({ complete: night, sample_size: 200 }),
    expected: [['far', 2, null, 'target in 180 days']],
  },
  'as far as 90 days': { night: (night) => ({ complete: night, sample_size: 110 }), expected: [] },
  'rejected for quality': {
    night: (night) => ({
      ...{ complete: 5 * night, speeder_individuals: 10, straightliner_individuals: 0 },
      failed_quality_check_individuals: 10,
    }),
    expected: [['quality_rejects', 2, null, '17% rejected for quality']],
  },
  'rejected as usual': { night: (night) => ({ complete: 5 * night, speeder_individuals: 17 }), expected: [] },
  'sources behind': {
    ...{ night: steady(5), sources: [90, 5, 4] },
    expected: [['sources_behind', 3, null, '2 sources trail their survey, by 91 interviews']],
  },
  'a source that lacks less than a tenth': { night: steady(5), sources: [50, 41], expected: [] },
  'drop-out at its level': {
    night: (night) => ({ complete: 7 * night, incomplete_individuals: 3 * night }),
    expected: [['drop_out', 2, null, 'drop-out 30%, before 30%']],
  },
  'drop-out just below its level': {
    night: (night) => ({ complete: 7 * night, incomplete_individuals: Math.floor(2.8 * night) }),
    expected: [],
  },
  'drop-out far above its level, of 49 interviews': {
    night: (night) => ({ complete: 2 * night, incomplete_individuals: 5 * night, sample_size: 100 }),
    expected: [],
  },
  'incidence at its level': {
    night: (night) => ({ complete: night, screen_out_individuals: 9 * night, sample_size: 100 }),
    expected: [],
  },
  'incidence just below its level': {
    night: (night) => ({ complete: night, screen_out_individuals: 10 * night, sample_size: 100 }),
    expected: [['incidence', 2, null, 'incidence 9%, before 9%']],
  },
  'quota full at its level': {
    night: (night) => ({ complete: 6 * night, quota_full_individuals: 4 * night }),
    expected: [['quota_full', 2, null, 'quota full for 40% of the interviews, before 40%']],
  },
  'quota full just below its level': {
    night: (night) => ({ complete: 6 * night, quota_full_individuals: Math.floor(3.7 * night) }),
    expected: [],
  },
  'drop-out rose, but of 19 interviews before': {
    night: (night) => ({
      ...{ complete: 15 + 5 * Math.max(0, night - 13), incomplete_individuals: Math.max(0, night - 13) },
      screen_out_individuals: 4,
    }),
    expected: [],
  },
  'drop-out rose, of 20 interviews before': {
    night: (night) => ({
      ...{ complete: 15 + 5 * Math.max(0, night - 13), incomplete_individuals: Math.max(0, night - 13) },
      screen_out_individuals: 5,
    }),
    expected: [['rates_moved', 3, null, 'drop-out from 0% to 17%']],
  },
  'incidence fell': {
    night: (night) => ({ complete: 5 * night, screen_out_individuals: night < 13 ? 0 : 5 * (night - 12) }),
    expected: [['rates_moved', 3, null, 'incidence from 93% to 50%']],
  },
}

test('needs_action has a row for each survey and reason', async () => {
  const { account, database, rows } = await testWarehouse()
  const names = Object.keys(CASES)
  const statusOf = (one: Case, night: number) => one.status?.(night) ?? 'fieldwork'
  for (let night = 1; night <= NIGHTS; night += 1) {
    const statuses = Object.values(CASES).map((one) => statusOf(one, night))
    const surveys = statuses.map((status, place) => survey(place + 1, { status, updated_at: at(night) }))
    // A listing in which no status is new would only take time.
    const isNew = Object.values(CASES).some((one, place) => statusOf(one, night - 1) !== statuses[place])
    if (night === 1) await list(account, surveys, at(night), 'full')
    else if (isNew) await list(account, surveys, at(night))
    const bundles = Object.values(CASES).map(({ night: read, sources = [] }, place) => {
      const { complete, ...change } = read(night)
      const whole = progress(complete, {
        ...{ screen_out_individuals: 0, incomplete_individuals: 0, quota_full_individuals: 0 },
        ...change,
        completion_rate: null,
      })
      const sourceIds = sources.map((_, slot) => 10 * (place + 1) + slot)
      return bundle(
        place + 1,
        at(night),
        sourceIds.map((id) => source(id)),
        whole,
        {
          sourceProgress: sources.map((count, slot) => ({
            sampleSourceId: sourceIds[slot] ?? 0,
            progress: progress(count, { sample_size: 100 }),
            at: at(night),
          })),
        },
      )
    })
    await account.commitBundles(bundles, RUN)
    await storeForecasts(database)
  }
  const due = Object.values(CASES).flatMap(({ due: due_on }, place) =>
    due_on === undefined ? [] : [planLine({ survey_id: place + 1, due_on, line: place + 2 })],
  )
  expect(await storePlan(database, due)).toEqual({ stored: due.length, unknown: 0 })
  const all = await rows(
    `SELECT survey_id, kind, urgency, strftime(timezone('UTC', since), '%d') AS since, text, numbers, due_on,
      row_number() OVER (ORDER BY urgency, due_on NULLS LAST, account, survey_id) AS place FROM needs_action ORDER BY survey_id, kind`,
  )
  const found = all.map(({ numbers, due_on, place, ...row }) => row)
  expect(
    Object.fromEntries(
      names.map((name, place) => [
        name,
        found
          .filter(({ survey_id }) => survey_id === place + 1)
          .map(({ survey_id, ...row }) => Object.values(row)),
      ]),
    ),
  ).toEqual(Object.fromEntries(Object.entries(CASES).map(([name, { expected }]) => [name, expected])))
  const place = names.indexOf('due a day before the expected one')
  const row = all.find(({ survey_id }) => survey_id === place + 1)
  const numbers = {
    ...{ due_on: '2026-04-08', expected_on: '2026-04-09' },
    ...{
      needed_per_day: 5.3,
      per_day: 5,
      expected_per_day: 5,
      missing: 100,
      gained: 35,
      days: 7,
      days_late: 1,
    },
  }
  expect(JSON.parse(String(row?.numbers))).toEqual(numbers)
  const shown = needsAction.columns.filter(({ name }) => ['survey_id', 'urgency', 'due_on'].includes(name))
  const exported = selectRows({ table: needsAction, columns: shown }, ({ name }) => `t.${name}`)
  const byUrgency = sort(all, ({ place }) => Number(place))
  expect(await rows(exported)).toEqual(
    byUrgency.map(({ survey_id, urgency, due_on }) => ({ survey_id, urgency, due_on })),
  )
})
