/** Tables for the rules that make a survey due. */
import { rollup } from 'd3-array'
import { describe, expect, test } from 'vitest'
import { minusMs, msBetween } from '../../../src/model/instant.js'
import type { SurveyFacts } from '../../../src/model/plan-facts.js'
import type { TaskReason } from '../../../src/model/run.js'
import {
  DEFAULT_WEIGHTS,
  listsSourcesFrom,
  nextRefresh,
  refreshReason,
  refreshWeight,
  restsUntil,
} from '../../../src/rules/refresh.js'
import { instantOf } from '../../support/time/instants.js'
import { REFRESH_RULES as rules } from '../../support/warehouse/run-dependencies.js'

const DAY_MS = 86_400_000
const NOW = instantOf('2026-03-31T00:00:00Z')
const daysAgo = (days: number) => minusMs(NOW, days * DAY_MS)

const facts = (change: Partial<SurveyFacts>): SurveyFacts => ({
  id: 1,
  status: 'complete',
  updatedAt: daysAgo(100),
  statusSince: change.updatedAt ?? daysAgo(100),
  refreshedAt: daysAgo(1),
  sourcesChangedAt: null,
  changeAlone: false,
  leftOut: false,
  sourcesReadAt: daysAgo(1),
  progressChangedAt: null,
  missing: false,
  ...change,
})

/** Its sources change without their survey, the last one ten days ago. */
const ALONE = { changeAlone: true, sourcesChangedAt: daysAgo(10) }

describe('a survey is due', () => {
  test.each<[string, string | null, Partial<SurveyFacts>]>([
    ['while it is pending', 'active', { status: 'pending' }],
    ['while it is in field', 'active', { status: 'fieldwork' }],
    ['while it deviates', 'active', { status: 'deviating_from_specs' }],
    ['while its data are processed', 'active', { status: 'data_processing' }],
    ['while its status is unknown', 'active', { status: 'archived' }],
    ['in field, even if it was just refreshed', 'active', { status: 'fieldwork', refreshedAt: NOW }],
    ['never, when it is a draft', null, { status: 'draft', refreshedAt: daysAgo(400) }],
    ['never, when it is a demonstration', null, { status: 'user_demo', refreshedAt: daysAgo(400) }],
    ['never, when it is missing', null, { status: 'fieldwork', missing: true }],
    ['never, when it is missing, even if it was never read', null, { missing: true, refreshedAt: null }],
    ['when it was never read', 'changed', { refreshedAt: null }],
    ['when it is a draft that was never read', 'changed', { status: 'draft', refreshedAt: null }],
    ['when its last reading is ahead of now', 'changed', { refreshedAt: daysAgo(-400) }],
    ['when it is a draft read ahead of now', 'changed', { status: 'draft', refreshedAt: daysAgo(-400) }],
    ['never, when the change of its progress is ahead of now', null, { progressChangedAt: daysAgo(-400) }],
    ['when it is complete since now', 'settling', { updatedAt: NOW }],
    ['when complete for almost settle_for', 'settling', { updatedAt: daysAgo(6.999), refreshedAt: NOW }],
    ['when it is complete and changed after the time of the answer', 'settling', { updatedAt: daysAgo(-1) }],
    ['when its progress changed within settle_for', 'settling', { progressChangedAt: daysAgo(3) }],
    ['not when settled and read an hour ago', null, { updatedAt: daysAgo(7), refreshedAt: daysAgo(1 / 24) }],
    ['when settled and read last night', 'settling', { updatedAt: daysAgo(7), refreshedAt: daysAgo(0.9) }],
    ['not when resting 4 days, read 2 days ago', null, { updatedAt: daysAgo(13), refreshedAt: daysAgo(2) }],
    ['when resting 4 days, read 4 days ago', 'settling', { updatedAt: daysAgo(15), refreshedAt: daysAgo(4) }],
    [
      'by the last change of its progress rather than its last modification',
      'settling',
      { updatedAt: daysAgo(90), progressChangedAt: daysAgo(15), refreshedAt: daysAgo(4) },
    ],
    ['not yet, when it is unchanged for long and was read 15 days ago', null, { refreshedAt: daysAgo(15) }],
    ['when it is unchanged for long and was read max_age ago', 'old', { refreshedAt: daysAgo(30) }],
    ['when read almost max_age ago, so that a run may start earlier', 'old', { refreshedAt: daysAgo(29.8) }],
    [
      'not when its row was edited after it closed',
      null,
      { updatedAt: daysAgo(1), statusSince: daysAgo(13), refreshedAt: daysAgo(2) },
    ],
    ['not while its sources are quiet with it', null, { status: 'draft', sourcesReadAt: daysAgo(40) }],
    ['for a list read ahead of now', 'sources', { ...ALONE, status: 'draft', sourcesReadAt: daysAgo(-400) }],
    ['not for a list that was never read as a whole', null, { ...ALONE, sourcesReadAt: null }],
    ['when a list has rested a day', 'sources', { ...ALONE, status: 'draft', sourcesReadAt: daysAgo(9) }],
    ['not when a list rests for half of 18 days', null, { ...ALONE, sourcesReadAt: daysAgo(2) }],
    [
      'when a list has rested half of 10 days',
      'sources',
      { ...ALONE, sourcesReadAt: daysAgo(5), sourcesChangedAt: daysAgo(15) },
    ],
    [
      'by the row, if that changed later',
      null,
      { ...ALONE, sourcesReadAt: daysAgo(0.5), updatedAt: daysAgo(1), status: 'draft' },
    ],
    [
      'for its progress, if both are due',
      'old',
      { ...ALONE, refreshedAt: daysAgo(30), sourcesReadAt: daysAgo(30) },
    ],
    ['as settling, not old, if both apply', 'settling', { updatedAt: daysAgo(2), refreshedAt: daysAgo(31) }],
  ])('%s: %s', (_, reason, change) => {
    expect(refreshReason(facts(change), NOW, rules)).toBe(reason)
  })

  test('again in the next run after a refusal, then after 2, 4, 8 … days, and then every 30', () => {
    const restsFor = (refusals: number, days: number) =>
      restsUntil(refusals, daysAgo(days), NOW, rules) !== null
    expect(restsFor(1, 0)).toBe(false)
    for (const [refusals, days] of [
      [2, 2],
      [3, 4],
      [4, 8],
      [5, 16],
      [6, 30],
      [60, 30],
    ] as const) {
      expect(restsFor(refusals, days - 0.3)).toBe(true)
      expect(restsFor(refusals, days)).toBe(false)
      // A nightly run may begin a little earlier than the previous one.
      expect(restsFor(refusals, days - 0.2)).toBe(false)
    }
    expect(restsFor(9, -400)).toBe(false)
  })

  const daysOfRest = (id: number, quietDays: number, readAfterDays = 0): number => {
    const refreshedAt = daysAgo(-readAfterDays)
    const next = nextRefresh(facts({ id, refreshedAt, updatedAt: daysAgo(quietDays) }), refreshedAt, {
      ...rules,
      settle_for: 0,
    })
    return msBetween(refreshedAt, next?.at ?? 0n) / DAY_MS
  }

  test('after 1, 2, 4, 8 … days once it has settled, up to six hours early, and at most 30', () => {
    const quietDays = [0, 1, 2, 4, 8, 16]
    expect(quietDays.map((days) => daysOfRest(0, days))).toEqual([0.75, 0.75, 1.75, 3.75, 7.75, 15.75])
    const longest = daysOfRest(0, 64)
    expect(longest).toBeGreaterThan(15)
    expect(longest).toBeLessThanOrEqual(30)
    expect(daysOfRest(0, 32)).toBe(Math.min(longest, 31.75))
  })

  test.each([1, 2_147_483_648, Number.MAX_SAFE_INTEGER - 5_000, -4_000])(
    'over the last half of max_age, if surveys with ids from %d were read in one night, and from then on after all of it',
    (first) => {
      const ids = Array.from({ length: 3_000 }, (_, place) => first + place)
      const rests = ids.map((id) => daysOfRest(id, 100))
      expect(Math.min(...rests)).toBeGreaterThan(15)
      expect(Math.max(...rests)).toBeLessThanOrEqual(29.75)
      const byDay = rollup(rests, (some) => some.length, Math.floor)
      expect(Math.max(...byDay.values())).toBeLessThan(260)
      // From then on every 30 nights.
      for (const [place, id] of ids.entries())
        expect(Math.ceil(daysOfRest(id, 100, Math.ceil(rests[place] ?? 0))), `${id}`).toBe(30)
    },
  )

  test.each([
    ['fieldwork', 4],
    ['pending', 2],
    ['deviating_from_specs', 2],
    ['data_processing', 2],
    ['archived', 2],
    ['complete', 1],
    ['draft', 1],
    ['user_demo', 1],
  ])('with a weight that depends on its status: %s %d', (status, weight) => {
    expect(refreshWeight(status, DEFAULT_WEIGHTS)).toBe(weight)
  })

  test('with the weights from the settings', () => {
    const weights = { fieldwork: 9, active: 3, other: 2 }
    expect(
      ['fieldwork', 'pending', 'archived', 'complete', 'draft'].map((status) =>
        refreshWeight(status, weights),
      ),
    ).toEqual([9, 3, 3, 2, 2])
  })
})

test.each<[string, Partial<SurveyFacts>]>([
  ['settled for a week', { updatedAt: daysAgo(21), refreshedAt: daysAgo(3) }],
  ['unchanged for long', { refreshedAt: daysAgo(12) }],
  ['with a rest of odd milliseconds', { updatedAt: daysAgo(9.123_456), refreshedAt: daysAgo(0.3) }],
])('a complete survey %s is due from the time that is shown, and not before', (_name, change) => {
  const survey = facts(change)
  const next = nextRefresh(survey, NOW, rules)
  if (next === null) throw new Error('it is never due')
  expect(next.at).toBeGreaterThan(NOW)
  expect(refreshReason(survey, next.at, rules)).toBe(next.reason)
  expect(refreshReason(survey, minusMs(next.at, 1), rules)).toBeNull()
})

describe('an active survey has its list of sources read again', () => {
  test.each<[string, number | null, number, number]>([
    ['after list_sources_every, up to six hours early', 3, 2, 1.75],
    ['after a fifth of the time for which no source had changed', 15, 2, 2.75],
    ['after four times list_sources_every at most', 400, 2, 7.75],
    ['after list_sources_every without sources', null, 2, 1.75],
    ['each time if that is 0', 400, 0, 0],
  ])('%s', (_, quietDays, everyDays, days) => {
    const from = listsSourcesFrom(
      { sourcesReadAt: NOW, sourcesChangedAt: quietDays === null ? null : daysAgo(quietDays) },
      { reason: 'active', isTouched: false },
      NOW,
      { ...rules, list_sources_every: everyDays * DAY_MS },
    )
    expect(msBetween(NOW, from ?? 0n) / DAY_MS).toBe(days)
  })

  test.each<[string, TaskReason, boolean, boolean]>([
    ['at once when its row changed', 'changed', false, true],
    ['not yet when only updated_at moved', 'changed', true, false],
    ['at once when it was not listed', 'missing', false, true],
    ['at once when its list is due', 'sources', false, true],
  ])('%s', (_, reason, isTouched, isAtOnce) => {
    const from = listsSourcesFrom(
      { sourcesReadAt: NOW, sourcesChangedAt: null },
      { reason, isTouched },
      NOW,
      rules,
    )
    expect(from === null).toBe(isAtOnce)
  })
})
