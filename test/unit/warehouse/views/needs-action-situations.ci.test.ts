/**
 * What a fieldwork manager expects to see in the morning, situation by situation: the reasons of needs_action, or none. Each situation is a
 * survey of its own, read on the afternoons of 20 days. Settings are those of a new installation.
 */
import { rollup } from 'd3-array'
import { expect, onTestFinished, test } from 'vitest'
import { type AlarmLevels, DEFAULT_ALARM_LEVELS } from '../../../../src/model/alarms.js'
import type { Progress, Survey } from '../../../../src/model/fields.js'
import type { Instant } from '../../../../src/model/instant.js'
import type { PlanLine } from '../../../../src/model/tables.js'
import { storeAlarmLevels } from '../../../../src/warehouse/history/alarm-levels.js'
import { storeForecasts } from '../../../../src/warehouse/history/forecasts.js'
import { storePlan } from '../../../../src/warehouse/plan.js'
import { RULES } from '../../../../src/warehouse/views/needs-action-rules.js'
import { atEndOfFile } from '../../../support/files/temporary.js'
import { minute } from '../../../support/time/instants.js'
import {
  bundle,
  list,
  planLine,
  progress,
  RUN,
  reconstructed as reconstructedSurvey,
  source,
  survey,
} from '../../../support/warehouse/rows.js'
import { type Row, type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

const at = (night: number): Instant => minute((night - 1) * 1440 + 840)
const NIGHTS = 20

/** Interviews by status, such as `{ complete: 5, screen_out: 5 }`. */
type Mix = Partial<
  Record<
    | ('complete' | 'incomplete' | 'screen_out' | 'quota_full' | 'speeder')
    | ('manual_action' | 'pending_analysis'),
    number
  >
>
type Reading = Mix & { readonly target?: number | null; readonly minutes?: number }

interface Situation {
  /** The night of the first reading, and of the last one. */
  readonly first?: number
  readonly last?: number
  /** The status in a night; fieldwork by default. */
  readonly status?: (night: number) => Survey['status']
  readonly night: (night: number) => Reading
  /** Readings as of so many days before the first one. */
  readonly reconstructed?: Readonly<Record<number, Reading>>
  readonly plan?: Partial<PlanLine>
  /** The sources of the last night, by name. */
  readonly sources?: Readonly<Record<string, Reading>>
  /** The suppliers in the plan, by the name of the source. */
  readonly suppliers?: Readonly<Record<string, string>>
  /** Without it, no alarm. */
  readonly expected?: readonly string[]
  /** The rows of good_news; without it, none. */
  readonly news?: readonly string[]
}

/** The same interviews each night. */
const nightly =
  ({ target, minutes, ...mix }: Reading, from = 0) =>
  (night: number): Reading => ({
    ...scaled(mix, Math.max(0, night - from)),
    ...(target === undefined ? {} : { target }),
    ...(minutes === undefined ? {} : { minutes }),
  })
/** One mix a night up to a night, and another one after it. */
const changing = (until: number, before: Mix, after: Mix) => (night: number) =>
  added(scaled(before, Math.min(night, until)), scaled(after, Math.max(0, night - until)))
const scaled = (mix: Mix, by: number): Mix =>
  Object.fromEntries(Object.entries(mix).map(([status, count]) => [status, count * by]))
const added = (one: Mix, other: Mix): Mix =>
  Object.fromEntries(
    [...Object.entries(one), ...Object.entries(other)].map(([status]) => [
      status,
      (one[status as keyof Mix] ?? 0) + (other[status as keyof Mix] ?? 0),
    ]),
  )
const from =
  (night: number, status: Survey['status'], before: Survey['status'] = 'fieldwork') =>
  (now: number) =>
    now >= night ? status : before

const HEALTHY: Readonly<Record<string, Situation>> = {
  'all is well': { night: nightly({ complete: 5, screen_out: 5, incomplete: 1 }) },
  'the first three interviews had a strange incidence': {
    night: (night) =>
      night < 12
        ? { complete: 0 }
        : added({ complete: 3 }, scaled({ complete: 5, screen_out: 7 }, night - 12)),
    status: from(12, 'fieldwork', 'pending'),
  },
  'the first three interviews were dropped': {
    night: changing(1, { incomplete: 3 }, { complete: 5, incomplete: 1 }),
  },
  'opened today': { night: () => ({ complete: 0 }), status: from(20, 'fieldwork', 'pending') },
  'first read today, without a complete interview': { first: 20, night: () => ({ complete: 0 }) },
  'opened today with interviews that were dropped': {
    night: (night) => (night < 20 ? { complete: 0 } : { complete: 2, incomplete: 30 }),
    status: from(20, 'fieldwork', 'pending'),
  },
  'closed, with everything wrong': {
    night: nightly({ complete: 1, screen_out: 50, incomplete: 50, quota_full: 100, speeder: 5, minutes: 90 }),
    status: from(19, 'complete'),
    plan: { loi_minutes: 10, incidence: 0.5 },
  },
  'closed, and quiet': {
    night: nightly({ complete: 5 }),
    status: from(19, 'complete'),
    plan: { quiet_until: '2026-03-25' },
  },
  'a draft with test interviews': {
    night: () => ({ complete: 2, incomplete: 60, screen_out: 60 }),
    status: () => 'draft',
  },
  'incidence got better': {
    night: changing(13, { complete: 3, screen_out: 9 }, { complete: 5, screen_out: 5 }),
    news: ['incidence: incidence from 25% to 50%'],
  },
  'drop-out got better': {
    night: changing(13, { complete: 5, incomplete: 2 }, { complete: 5 }),
    news: ['drop_out: drop-out from 29% to 0%'],
  },
  'both rates got better, of a quiet survey': {
    night: changing(13, { complete: 3, screen_out: 9, incomplete: 5 }, { complete: 5, screen_out: 5 }),
    plan: { quiet_until: '2026-03-25' },
  },
  'both rates got better, and it is closed': {
    night: changing(13, { complete: 3, screen_out: 9, incomplete: 5 }, { complete: 5, screen_out: 5 }),
    status: from(20, 'complete'),
  },
  'a tiny sample with a bad mix': {
    night: nightly({ complete: 1, incomplete: 2, screen_out: 3, target: 25 }),
    first: 15,
  },
  'one over quota, in data processing': {
    night: () => ({ complete: 201 }),
    status: () => 'data_processing',
  },
  'full to the last interview': { night: nightly({ complete: 10 }) },
  'a soft launch as it should be': {
    night: () => ({ complete: 50, screen_out: 30, incomplete: 10, minutes: 9.5 }),
    status: () => 'pending',
    plan: { loi_minutes: 10, incidence: 0.6 },
    news: [
      'soft_launch: soft launch passed: drop-out 11%, incidence 63%, sold with 60%, quota full for 0% of the interviews, 0% rejected for quality, 9.5 minutes long, sold with 10',
    ],
  },
  'a quiet soft launch as it should be': {
    night: () => ({ complete: 50, screen_out: 30, incomplete: 10 }),
    status: () => 'pending',
    plan: { quiet_until: '2026-03-25' },
  },
  'the first tenth as it should be, with few complete interviews': {
    night: (night) => scaled({ complete: 8, screen_out: 20, incomplete: 2 }, Math.max(0, night - 18)),
    status: from(18, 'fieldwork', 'pending'),
    news: [
      'soft_launch: soft launch passed: drop-out 7%, incidence 29%, quota full for 0% of the interviews',
    ],
  },
  'the first tenth, with too few interviews to say anything': {
    night: (night) => scaled({ complete: 5, incomplete: 15 }, Math.max(0, night - 18)),
    status: from(18, 'fieldwork', 'pending'),
  },
  'more than the first tenth as it should be': {
    night: (night) => scaled({ complete: 11, screen_out: 20, incomplete: 2 }, Math.max(0, night - 18)),
    status: from(18, 'fieldwork', 'pending'),
  },
  'without a target, as it should be': {
    night: (night) => ({ ...scaled({ complete: 8, screen_out: 20 }, Math.max(0, night - 18)), target: 0 }),
    status: from(18, 'fieldwork', 'pending'),
  },
  'a soft launch of ten with a bad mix': {
    night: () => ({ complete: 3, incomplete: 7 }),
    status: () => 'pending',
  },
  'pending without an interview': { night: () => ({ complete: 0 }), status: () => 'pending' },
  'nearly done, and one undecided': { night: nightly({ complete: 9.5, pending_analysis: 0.05 }) },
  'nearly done, and nothing undecided': { night: nightly({ complete: 9.5 }) },
  'nearly done, and one taken back': {
    night: (night) => (night < 20 ? { complete: 9.9 * night } : { complete: 187, speeder: 1 }),
  },
  'nearly done, and many were taken back two weeks ago': {
    night: (night) => (night < 10 ? { complete: 11 * night } : { complete: 11 * night - 28, speeder: 17 }),
  },
  'nearly done, and quotas are filling up': { night: nightly({ complete: 9.5, quota_full: 5 }) },
  'full, and many undecided': { night: nightly({ complete: 10, manual_action: 1 }) },
  'many undecided in the middle': { night: nightly({ complete: 5, pending_analysis: 2 }) },
  'a bad source, but too few interviews': {
    night: nightly({ complete: 5 }),
    sources: { 'Panel A': { complete: 50 }, 'Panel B': { complete: 10, speeder: 5 } },
  },
  'all sources rejected alike': {
    night: nightly({ complete: 5 }),
    sources: { 'Panel A': { complete: 40, speeder: 10 }, 'Panel B': { complete: 40, speeder: 9 } },
  },
  'one source twice as bad, and still good': {
    night: nightly({ complete: 5 }),
    sources: { 'Panel A': { complete: 98, speeder: 2 }, 'Panel B': { complete: 45, speeder: 5 } },
  },
  'incidence and length nearly as sold': {
    night: nightly({ complete: 5, screen_out: 7, minutes: 12 }),
    plan: { incidence: 0.5, loi_minutes: 10 },
  },
  'incidence and length exactly at the limit of what was sold': {
    night: nightly({ complete: 8, screen_out: 17, minutes: 14.4 }),
    plan: { incidence: 0.4, loi_minutes: 12 },
  },
  'a low incidence, as sold': {
    night: nightly({ complete: 5, screen_out: 95 }),
    plan: { incidence: 0.05 },
  },
  'stands still, but quiet': {
    night: (night) => ({ complete: Math.min(80, 5 * night) }),
    plan: { quiet_until: '2026-03-25' },
  },
  'quiet until today': {
    night: (night) => ({ complete: Math.min(80, 5 * night) }),
    plan: { quiet_until: '2026-03-20' },
  },
}

const ALARMING: Readonly<Record<string, Situation>> = {
  'late, although quiet': {
    night: (night) => ({ complete: Math.min(80, 5 * night) }),
    plan: { due_on: '2026-04-08', quiet_until: '2026-03-25' },
    expected: ['late: due 8 April, expected 15 May: needs 6.4 a day, has 2.1'],
  },
  'quiet until yesterday': {
    night: (night) => ({ complete: Math.min(80, 5 * night) }),
    plan: { quiet_until: '2026-03-19' },
    expected: ['slips: slips 36 days', 'stands_still: no complete interview for 4 days'],
  },
  'opened three days ago, without a complete interview': {
    night: (night) => ({ complete: 0, screen_out: night > 17 ? 5 : 0 }),
    status: from(17, 'fieldwork', 'pending'),
    expected: ['no_complete: no complete interview since it opened 3 days ago'],
  },
  'opened yesterday, without target or complete interview': {
    night: () => ({ complete: 0, target: 0 }),
    status: from(19, 'fieldwork', 'pending'),
    expected: ['no_complete: no complete interview since it opened 1 day ago'],
  },
  'in the field since before the first reading, without a complete interview': {
    night: () => ({ complete: 0, target: null }),
    expected: ['no_complete: no complete interview since it opened at least 19 days ago'],
  },
  'resumed two days ago, without a complete interview ever': {
    night: () => ({ complete: 0 }),
    status: (night) => (night >= 10 && night < 18 ? 'deviating_from_specs' : 'fieldwork'),
    expected: ['no_complete: no complete interview since it went on 2 days ago'],
  },
  'no gain in any reading': {
    night: () => ({ complete: 60 }),
    expected: ['stands_still: no complete interview for at least 19 days'],
  },
  'no gain since a reconstructed one': {
    first: 17,
    night: () => ({ complete: 60 }),
    reconstructed: { 7: { complete: 50 }, 4: { complete: 60 } },
    expected: ['stands_still: no complete interview for 7 days'],
  },
  'no gain since the last one that was seen': {
    night: (night) => ({ complete: Math.min(80, 5 * night) }),
    expected: ['slips: slips 36 days', 'stands_still: no complete interview for 4 days'],
  },
  'over target at the first reading': {
    first: 20,
    night: () => ({ complete: 203 }),
    expected: ['over_target: over target by 3, still open'],
  },
  'the end game': {
    night: nightly({ complete: 9.4, manual_action: 0.15, pending_analysis: 0.1 }),
    expected: ['end_game: 12 missing, 5 undecided, about 13 more starts at the present rate'],
  },
  'the end game, and the undecided would be enough': {
    night: nightly({ complete: 9.75, pending_analysis: 0.5 }),
    expected: ['end_game: 5 missing, 10 undecided, about 6 more starts at the present rate'],
  },
  'the end game, and quotas are filling up': {
    night: nightly({ complete: 9.4, manual_action: 0.15, pending_analysis: 0.1, quota_full: 4 }),
    expected: [
      'end_game: 12 missing, 5 undecided, about 18 more starts at the present rate, 29% of the last starts quota full',
    ],
  },
  'the end game, and some were taken back': {
    night: (night) => (night < 17 ? { complete: 10 * night } : { complete: 10 * night - 15, speeder: 5 }),
    expected: [
      'end_game: 15 missing, 0 undecided, 5 taken back in a week, about 17 more starts at the present rate',
    ],
  },
  'the end game, and both': {
    night: (night) =>
      night < 17
        ? { complete: 10 * night, manual_action: 3 }
        : { complete: 10 * night - 15, speeder: 5, manual_action: 6 },
    expected: [
      'end_game: 15 missing, 6 undecided, 5 taken back in a week, about 18 more starts at the present rate',
    ],
  },
  'the end game, from nine tenths on': {
    night: nightly({ complete: 4.95, pending_analysis: 0.3, target: 110 }),
    expected: ['end_game: 11 missing, 6 undecided, about 12 more starts at the present rate'],
  },
  'the end game of a small survey': {
    night: nightly({ complete: 2.3, pending_analysis: 0.1, target: 50 }),
    expected: ['end_game: 4 missing, 2 undecided'],
  },
  'a soft launch with a high drop-out': {
    night: () => ({ complete: 40, screen_out: 10, incomplete: 30 }),
    status: () => 'pending',
    expected: ['soft_launch: soft launch: drop-out 38%'],
  },
  'a soft launch that takes long, and whose interviews are rejected': {
    night: () => ({ complete: 30, speeder: 10, minutes: 15 }),
    status: () => 'pending',
    plan: { loi_minutes: 10 },
    expected: ['soft_launch: soft launch: 25% rejected for quality, 15 minutes long, sold with 10'],
  },
  'the first tenth with a high drop-out': {
    night: (night) => scaled({ complete: 8, screen_out: 10, incomplete: 12 }, Math.max(0, night - 18)),
    status: from(18, 'fieldwork', 'pending'),
    expected: ['soft_launch: soft launch: drop-out 40%'],
  },
  'the first tenth with less than the sold incidence, and full quotas': {
    night: (night) => scaled({ complete: 10, screen_out: 30, quota_full: 30 }, Math.max(0, night - 18)),
    status: from(18, 'fieldwork', 'pending'),
    plan: { incidence: 0.5 },
    expected: [
      'soft_launch: soft launch: incidence 25%, sold with 50%, quota full for 43% of the interviews',
    ],
  },
  'more than the first tenth with a high drop-out': {
    night: (night) => scaled({ complete: 11, screen_out: 10, incomplete: 14 }, Math.max(0, night - 18)),
    status: from(18, 'fieldwork', 'pending'),
    expected: ['drop_out: drop-out 40%'],
  },
  'drop-out fell, and is still beyond its level': {
    night: changing(13, { complete: 5, incomplete: 5 }, { complete: 5, incomplete: 3 }),
    expected: ['drop_out: drop-out 38%, before 50%'],
  },
  'one rate got better, and the other one worse': {
    night: changing(13, { complete: 3, screen_out: 9 }, { complete: 5, screen_out: 5, incomplete: 2 }),
    expected: ['rates_moved: drop-out from 0% to 17%'],
    news: ['incidence: incidence from 25% to 50%'],
  },
  'too many drop out': {
    night: changing(13, { complete: 5, incomplete: 1 }, { complete: 5, incomplete: 3 }),
    expected: ['drop_out: drop-out 38%, before 17%'],
  },
  'too many drop out, and nothing to compare': {
    night: (night) => scaled({ complete: 10, incomplete: 5 }, Math.max(0, night - 13)),
    status: from(13, 'fieldwork', 'pending'),
    expected: ['drop_out: drop-out 33%'],
  },
  'incidence below the level': {
    night: nightly({ complete: 5, screen_out: 60 }),
    expected: ['incidence: incidence 8%, before 8%'],
  },
  'incidence below what was sold': {
    night: nightly({ complete: 5, screen_out: 9 }),
    plan: { incidence: 0.5 },
    expected: ['incidence: incidence 36%, sold with 50%, before 36%'],
  },
  'quotas are full': {
    night: changing(13, { complete: 5 }, { complete: 5, quota_full: 10 }),
    expected: ['quota_full: quota full for 67% of the interviews, before 0%'],
  },
  'it takes longer than sold': {
    night: nightly({ complete: 5, minutes: 12.5 }),
    plan: { loi_minutes: 10 },
    expected: ['length: 12.5 minutes long, sold with 10'],
  },
  'rejected for quality': {
    night: nightly({ complete: 5, speeder: 1 }),
    expected: ['quality_rejects: 17% rejected for quality'],
  },
  'a bad source': {
    night: nightly({ complete: 5 }),
    sources: { 'Panel A': { complete: 96, speeder: 4 }, 'Panel B': { complete: 41, speeder: 9 } },
    expected: ['source_rejects: 18% rejected at "Panel B", 4% elsewhere'],
  },
  'a bad source without a name': {
    night: nightly({ complete: 5 }),
    sources: { 'Panel A': { complete: 96, speeder: 4 }, '': { complete: 41, speeder: 9 } },
    expected: ['source_rejects: 18% rejected at a source without a name, 4% elsewhere'],
  },
  'a bad source of a known supplier': {
    night: nightly({ complete: 5 }),
    sources: { 'Panel A': { complete: 97, speeder: 3 }, 'Boost 18–24 7': { complete: 39, speeder: 11 } },
    suppliers: { 'Boost 18–24 7': 'Panel East' },
    expected: ['source_rejects: 22% rejected at "Boost 18–24 7" (Panel East), 3% elsewhere'],
  },
  'incidence fell, and is above the level': {
    night: changing(13, { complete: 5, screen_out: 2 }, { complete: 5, screen_out: 5 }),
    expected: ['rates_moved: incidence from 71% to 50%'],
  },
  'incidence fell by a tenth, exactly': {
    night: changing(13, { complete: 6, screen_out: 4 }, { complete: 5, screen_out: 5 }),
    expected: ['rates_moved: incidence from 60% to 50%'],
  },
  'drop-out rose, and is below the level': {
    night: changing(13, { complete: 9, incomplete: 0 }, { complete: 9, incomplete: 2 }),
    expected: ['rates_moved: drop-out from 0% to 18%'],
  },
  'perhaps late': {
    night: nightly({ complete: 5 }),
    plan: { due_on: '2026-04-09' },
    expected: ['at_risk: due 9 April, expected 9 April or as late as 16 April: needs 5 a day, has 5'],
  },
  'late, with a pace that is no whole number': {
    night: (night) => ({ complete: 50 + Math.round(5.86 * night), target: 217 }),
    plan: { due_on: '2026-03-25' },
    expected: ['late: due 25 March, expected 29 March: needs 10 a day, has 5.9'],
  },
  'late, with hundreds a day': {
    night: (night) => ({ complete: Math.round(123.64 * night), target: 5000 }),
    plan: { due_on: '2026-04-01' },
    expected: ['late: due 1 April, expected 10 April: needs 211 a day, has 124'],
  },
  'far from its target': { night: nightly({ complete: 1 }), expected: ['far: target in 180 days'] },
  'two sources behind': {
    night: nightly({ complete: 5 }),
    sources: {
      'Panel A': { complete: 90, target: 100 },
      'Panel B': { complete: 5, target: 100 },
      'Panel C': { complete: 4, target: 100 },
    },
    expected: ['sources_behind: 2 sources trail their survey, by 91 interviews'],
  },
  'one source behind by a tenth of its target': {
    night: nightly({ complete: 5 }),
    sources: { 'Panel A': { complete: 18, target: 30 }, 'Panel B': { complete: 12, target: 30 } },
    expected: ['sources_behind: 1 source trails its survey, by 3 interviews'],
  },
  'one source behind': {
    night: nightly({ complete: 5 }),
    sources: { 'Panel A': { complete: 95, target: 100 }, 'Panel B': { complete: 4, target: 100 } },
    expected: ['sources_behind: 1 source trails its survey, by 46 interviews'],
  },
  'not read for two days': {
    last: 18,
    night: nightly({ complete: 5 }),
    expected: ['stale: not reached by the last runs'],
  },
  paused: {
    night: nightly({ complete: 5 }),
    status: from(17, 'deviating_from_specs'),
    expected: ['paused: paused for 3 days'],
  },
}

const SITUATIONS = { ...HEALTHY, ...ALARMING }

const read = ({ target = 200, minutes, ...mix }: Reading): Progress =>
  progress(mix.complete ?? 0, {
    ...{ sample_size: target, completion_rate: null },
    length_of_interview: minutes === undefined ? null : 60 * minutes,
    ...Object.fromEntries(
      (
        [
          'complete',
          'incomplete',
          'screen_out',
          'quota_full',
          'speeder',
          'manual_action',
          'pending_analysis',
        ] as const
      ).map((status) => [`${status}_individuals`, Math.round(mix[status] ?? 0)]),
    ),
    interviews_count: Math.round(mix.complete ?? 0),
  })

/** Twenty nights of all situations, each a survey with the number of its place. */
const fill = async ({ account, database }: TestWarehouse): Promise<void> => {
  const all = Object.values(SITUATIONS)
  const statusOf = ({ status, first = 1 }: Situation, night: number) =>
    night < first ? null : (status?.(night) ?? 'fieldwork')
  for (let night = 1; night <= NIGHTS; night += 1) {
    const surveys = all.flatMap((one, place) => {
      const status = statusOf(one, night)
      return status === null ? [] : [survey(place + 1, { status, updated_at: at(night) })]
    })
    // A listing in which no status is new would only take time.
    const isNew = all.some((one) => statusOf(one, night - 1) !== statusOf(one, night))
    if (isNew) await list(account, surveys, at(night), night === 1 ? 'full' : 'incremental')
    const bundles = all.flatMap((one, place) => {
      if (statusOf(one, night) === null || night > (one.last ?? NIGHTS)) return []
      const sources = Object.entries(night === NIGHTS ? (one.sources ?? {}) : {}).map(
        ([name, mix], slot) => ({
          row: source(10 * (place + 1) + slot, { name, sample_size: mix.target ?? 0 }),
          progress: read({ target: 0, ...mix }),
        }),
      )
      return [
        bundle(
          place + 1,
          at(night),
          sources.map(({ row }) => row),
          read(one.night(night)),
          {
            sourceProgress: sources.map((each) => ({
              sampleSourceId: each.row.id,
              progress: each.progress,
              at: at(night),
            })),
          },
        ),
      ]
    })
    await account.commitBundles(bundles, RUN)
    await storeForecasts(database)
    const earlier = all.flatMap(({ first, reconstructed = {} }, place) =>
      first === night
        ? Object.entries(reconstructed).map(([days, one]) =>
            reconstructedSurvey(place + 1, [Number(days)], read(one), at(night)),
          )
        : [],
    )
    for (const one of earlier) await account.commitReconstructed([one], RUN)
  }
  const lines = all.flatMap(({ plan }, place) =>
    plan === undefined ? [] : [planLine({ survey_id: place + 1, ...plan, line: place + 2 })],
  )
  const ofSources = all.flatMap(({ suppliers = {} }, place) =>
    Object.entries(suppliers).map(([name, supplier], slot) =>
      planLine({ survey_id: place + 1, source: name, supplier, line: 10 * (all.length + place) + slot }),
    ),
  )
  await storePlan(database, [...lines, ...ofSources])
}

let opened: Promise<TestWarehouse> | null = null
/** One warehouse for all tests, which only read it. */
const filled = (): Promise<TestWarehouse> => {
  opened ??= testWarehouse(undefined, atEndOfFile).then(async (warehouse) => {
    await fill(warehouse)
    return warehouse
  })
  return opened
}

/** The rows of a view by the default levels, evaluated once: to plan the view takes longer than to run it. */
const rowsOf = (view: 'needs_action' | 'good_news' | 'surveys_today'): Promise<readonly Row[]> => {
  evaluated[view] ??= filled().then(({ rows }) => rows(`FROM ${view}`))
  return evaluated[view]
}
const evaluated: Record<string, Promise<readonly Row[]>> = {}

/** The texts of a view, by the name of the situation. */
const textsOf = async (view: 'needs_action' | 'good_news') => {
  const found = await rowsOf(view)
  const texts = Object.keys(SITUATIONS).map((name, place) => [
    name,
    found
      .filter(({ survey_id }) => survey_id === place + 1)
      .map(({ kind, text }) => `${kind}: ${text}`)
      .toSorted(),
  ])
  return Object.fromEntries(texts)
}
const wanted = (of: (situation: Situation) => readonly string[] | undefined) =>
  Object.fromEntries(Object.entries(SITUATIONS).map(([name, situation]) => [name, of(situation) ?? []]))

test('a survey has the reasons that a manager expects, and no other ones', async () => {
  expect(await textsOf('needs_action')).toEqual(wanted(({ expected }) => expected))
})

test('what got better and what has passed is good news, and no reason', async () => {
  expect(await textsOf('good_news')).toEqual(wanted(({ news }) => news))
})

test('surveys_today says until when a survey is quiet, after what is late', async () => {
  const surveys = await rowsOf('surveys_today')
  const shown = (name: string) =>
    surveys.find(({ survey_id }) => survey_id === Object.keys(SITUATIONS).indexOf(name) + 1)?.needs_action
  expect(shown('all is well')).toBeNull()
  expect(shown('stands still, but quiet')).toBe('quiet until 25 March')
  expect(shown('quiet until today')).toBe('quiet until 20 March')
  expect(shown('late, although quiet')).toMatch(/^due 8 April, .*; quiet until 25 March$/)
  expect(shown('quiet until yesterday')).not.toContain('quiet')
  expect(shown('closed, and quiet')).toBeNull()
})

/** `2026-04-09` is the 9 April of a text. */
const dayOfText = (day: string): string =>
  new Date(day).toLocaleDateString('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'long' })

test('numbers has every number and date of a text', async () => {
  const found = [...(await rowsOf('needs_action')), ...(await rowsOf('good_news'))]
  expect(found.length).toBeGreaterThan(20)
  for (const { text, numbers } of found) {
    const known = Object.values(JSON.parse(String(numbers)) as object)
    const days = known.filter((value) => typeof value === 'string').map(dayOfText)
    const withoutName = String(text).replace(/".*"/, '')
    const rest = days.reduce((shorter, day) => shorter.replaceAll(day, ''), withoutName)
    const missing = (rest.match(/\d+(\.\d+)?/g) ?? []).filter((number) => !known.includes(Number(number)))
    expect([text, numbers, missing]).toEqual([text, numbers, []])
  }
})

test('the levels of the settings count in place of the defaults, and a level that is off raises no alarm', async () => {
  const countOf = (rows: readonly Row[]) =>
    Object.fromEntries(
      rollup(
        rows,
        ({ length }) => length,
        ({ kind }) => String(kind),
      ),
    )
  const byDefault = countOf(await rowsOf('needs_action'))
  const warehouse = await filled()
  onTestFinished(() => warehouse.run('DELETE FROM _sync.alarm_levels'))
  const kindsWith = async (change: Partial<AlarmLevels>) => {
    await storeAlarmLevels(warehouse.database, { ...DEFAULT_ALARM_LEVELS, ...change })
    return countOf(await warehouse.rows('SELECT kind FROM needs_action'))
  }
  expect(byDefault).toMatchObject({
    drop_out: 4,
    incidence: 2,
    quota_full: 1,
    quality_rejects: 1,
    soft_launch: 4,
  })
  const off = await kindsWith({ drop_out: null, incidence: null, quota_full: null, rejected: null })
  // What moved is no longer told as a level. The length of the second soft launch is still beyond what was sold.
  const { drop_out, incidence, quota_full, quality_rejects, source_rejects, ...others } = byDefault
  expect(off).toEqual({ ...others, rates_moved: Number(others.rates_moved) + 1, soft_launch: 1 })
  const strict = await kindsWith({ drop_out: 0.15, rejected: 0.1 })
  expect(strict).toMatchObject({ drop_out: 6, rates_moved: 2, source_rejects: 4 })
})

test('each rule has an example that a situation shows', async () => {
  const shown = (await rowsOf('needs_action')).map(({ kind, text }) => [kind, text])
  for (const { kind, example } of RULES) expect(shown).toContainEqual([kind, example])
})
