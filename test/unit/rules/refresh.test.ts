/** Tables for the rules that make a survey due. */
import { describe, expect, test } from 'vitest'
import { minusMs, msBetween } from '../../../src/model/instant.js'
import type { SurveyFacts } from '../../../src/model/plan-facts.js'
import { dueReason, nextReading, pausedUntil, readsSources } from '../../../src/rules/refresh.js'
import { instantOf } from '../../support/time/instants.js'
import { REFRESH_RULES as rules } from '../../support/warehouse/run-dependencies.js'

const DAY_MS = 86_400_000
const NOW = instantOf('2026-03-31T00:00:00Z')
const daysAgo = (days: number) => minusMs(NOW, days * DAY_MS)

const facts = (change: Partial<SurveyFacts>): SurveyFacts => ({
  id: 1,
  status: 'complete',
  refreshedAt: daysAgo(1),
  changedAt: daysAgo(100),
  leftOut: false,
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
    ['in field, even if it was just read', 'active', { status: 'fieldwork', refreshedAt: NOW }],
    ['while the list leaves it out', 'active', { leftOut: true, refreshedAt: NOW }],
    ['never, when it is missing', null, { status: 'fieldwork', missing: true }],
    ['never, when it is missing, even if it was never read', null, { missing: true, refreshedAt: null }],
    ['when it was never read', 'changed', { refreshedAt: null }],
    ['when it is a draft that was never read', 'changed', { status: 'draft', refreshedAt: null }],
    ['when its last reading is ahead of now', 'changed', { refreshedAt: daysAgo(-400) }],
    ['a day after its last reading, if it had changed just before', 'inactive', { changedAt: daysAgo(1) }],
    ['not before that', null, { refreshedAt: daysAgo(0.5), changedAt: daysAgo(0.5) }],
    [
      'a little early, because a nightly run may begin early',
      'inactive',
      { refreshedAt: daysAgo(0.8), changedAt: daysAgo(1) },
    ],
    [
      'not when it waits 4 days, and was read 2 days ago',
      null,
      { changedAt: daysAgo(6), refreshedAt: daysAgo(2) },
    ],
    ['when it has waited 4 days', 'inactive', { changedAt: daysAgo(8), refreshedAt: daysAgo(4) }],
    ['the same as a draft', 'inactive', { status: 'draft', changedAt: daysAgo(8), refreshedAt: daysAgo(4) }],
    [
      'the same as a demonstration',
      'inactive',
      { status: 'user_demo', changedAt: daysAgo(8), refreshedAt: daysAgo(4) },
    ],
    ['not when nothing has changed for long', null, { refreshedAt: daysAgo(15) }],
    ['when it was read max_age ago', 'inactive', { changedAt: daysAgo(900), refreshedAt: daysAgo(30) }],
    ['after a day, if its last change is ahead of now', 'inactive', { changedAt: daysAgo(-400) }],
    ['after a day, if nobody knows its last change', 'inactive', { changedAt: null }],
    ['after a day, if it changed after its last reading', 'inactive', { changedAt: daysAgo(0.5) }],
  ])('%s: %s', (_, reason, change) => {
    expect(dueReason(facts(change), NOW, rules)).toBe(reason)
  })

  test('1, 2, 4, 8, 16 … days after its last change, in nights of a day each, and then every max_age', () => {
    const read: number[] = []
    let refreshedAt = NOW
    for (let day = 1; day <= 130; day += 1) {
      const now = daysAgo(-day)
      const survey = facts({ refreshedAt, changedAt: NOW })
      if (dueReason(survey, now, rules) === null) continue
      refreshedAt = now
      read.push(day)
    }
    expect(read).toEqual([1, 2, 4, 8, 16, 32, 62, 92, 122])
  })

  test('again in the next run after a refusal, then after 2, 4, 8 … days, and then every 30', () => {
    const isPaused = (refusals: number, days: number) =>
      pausedUntil(refusals, daysAgo(days), NOW, rules) !== null
    expect(isPaused(1, 0)).toBe(false)
    for (const [refusals, days] of [
      [2, 2],
      [3, 4],
      [4, 8],
      [5, 16],
      [6, 30],
      [60, 30],
    ] as const) {
      expect(isPaused(refusals, days - 0.3)).toBe(true)
      expect(isPaused(refusals, days)).toBe(false)
      // A nightly run may begin a little earlier than the previous one.
      expect(isPaused(refusals, days - 0.2)).toBe(false)
    }
    expect(isPaused(9, -400)).toBe(false)
  })
})

test.each<[string, Partial<SurveyFacts>]>([
  ['quiet for two weeks', { changedAt: daysAgo(14), refreshedAt: daysAgo(3) }],
  ['quiet for long', { refreshedAt: daysAgo(12) }],
  ['that waits for odd milliseconds', { changedAt: daysAgo(9.123_456), refreshedAt: daysAgo(0.3) }],
])('an inactive survey %s is due from the time that is shown, and not before', (_name, change) => {
  const survey = facts(change)
  const next = nextReading(survey, NOW, rules)
  if (next === null) throw new Error('it is never due')
  expect(msBetween(NOW, next.at)).toBeGreaterThan(0)
  expect(dueReason(survey, next.at, rules)).toBe(next.reason)
  expect(dueReason(survey, minusMs(next.at, 1), rules)).toBeNull()
})

test.each<[string, boolean, Partial<Parameters<typeof readsSources>[0]>, number]>([
  ['when list or progress has changed', true, { isUnchanged: false }, 7],
  ['not when both are unchanged', false, {}, 7],
  ['of an active survey a week after the last time', true, { ageMs: 7 * DAY_MS }, 7],
  ['a little early, because a nightly run may begin early', true, { ageMs: 6.8 * DAY_MS }, 7],
  ['of an active survey not before', false, { ageMs: 6 * DAY_MS }, 7],
  ['of an inactive survey not even then', false, { isNightly: false, ageMs: 70 * DAY_MS }, 7],
  ['of every survey with 0s', true, { isNightly: false }, 0],
  ['if nobody knows when they were read', true, { ageMs: Number.POSITIVE_INFINITY }, 365],
])('the progress of sources is read %s', (_, isRead, change, days) => {
  const reading = { isNightly: true, isUnchanged: true, ageMs: DAY_MS, ...change }
  expect(readsSources(reading, { recheck_sources_after: days * DAY_MS })).toBe(isRead)
})
