/** Tables for the rules that make a survey due. */
import { describe, expect, test } from 'vitest'
import { minusMs } from '../../../src/model/instant.js'
import type { SurveyFacts } from '../../../src/model/plan-facts.js'
import {
  DEFAULT_WEIGHTS,
  nextRefresh,
  refreshReason,
  refreshWeight,
  restBetweenRefreshesMs,
  restsAfterRefusal,
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
  refreshedAt: daysAgo(1),
  progressChangedAt: null,
  missing: false,
  ...change,
})

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
    ['not yet, when it is unchanged for long and was read 29 days ago', null, { refreshedAt: daysAgo(29) }],
    ['when it is unchanged for long and was read max_age ago', 'old', { refreshedAt: daysAgo(30) }],
    ['when read almost max_age ago, so that a run may start earlier', 'old', { refreshedAt: daysAgo(29.8) }],
    ['as settling, not old, if both apply', 'settling', { updatedAt: daysAgo(2), refreshedAt: daysAgo(31) }],
  ])('%s: %s', (_, reason, change) => {
    expect(refreshReason(facts(change), NOW, rules)).toBe(reason)
  })

  test('again in the next run after a refusal, then after 2, 4, 8 … days, and then every 30', () => {
    const restsFor = (refusals: number, days: number) =>
      restsAfterRefusal({ refusals, refusedAt: daysAgo(days) }, NOW, rules)
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

  test('after 1, 2, 4, 8 … days once it has settled, and then every 30', () => {
    const rests: number[] = []
    for (let quietMs = 7 * DAY_MS; rests.length < 9; quietMs += (rests.at(-1) ?? 0) * DAY_MS)
      rests.push(restBetweenRefreshesMs(quietMs, rules) / DAY_MS)
    expect(rests).toEqual([1, 1, 2, 4, 8, 16, 30, 30, 30])
  })

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
