/** Which surveys are due, as tables. */
import { describe, expect, test } from 'vitest'
import { minusMs } from '../../src/model/instant.js'
import { refreshReason, refreshWeight, type SurveyFacts } from '../../src/model/refresh-rules.js'
import type { RefreshRules } from '../../src/model/run.js'
import { instantOf } from '../support/warehouse.js'

const DAY_MS = 86_400_000
const NOW = instantOf('2026-03-31T00:00:00Z')
const rules: RefreshRules = {
  settleForMs: 7 * DAY_MS,
  maxAgeMs: 30 * DAY_MS,
  skipUnchanged: true,
  recheckUnchangedAfterMs: 7 * DAY_MS,
  dailyWindows: null,
}

const daysAgo = (days: number) => minusMs(NOW, days * DAY_MS)

const facts = (change: Partial<SurveyFacts>): SurveyFacts => ({
  id: 1,
  status: 'complete',
  updatedAt: daysAgo(100),
  refreshedAt: daysAgo(1),
  missing: false,
  ...change,
})

describe('a survey is due', () => {
  test.each<[string, string | null, Partial<SurveyFacts>]>([
    ['while it is pending', 'live', { status: 'pending' }],
    ['while it is in field', 'live', { status: 'fieldwork' }],
    ['while it deviates', 'live', { status: 'deviating_from_specs' }],
    ['while its data are processed', 'live', { status: 'data_processing' }],
    ['while its status is one we do not know', 'live', { status: 'archived' }],
    ['however lately it was refreshed', 'live', { status: 'fieldwork', refreshedAt: NOW }],
    ['never, when it is a draft', null, { status: 'draft', refreshedAt: daysAgo(400) }],
    ['never, when it is a demonstration', null, { status: 'user_demo', refreshedAt: daysAgo(400) }],
    ['never, when it is missing', null, { status: 'fieldwork', missing: true }],
    ['never, when it is missing, even if it was never read', null, { missing: true, refreshedAt: null }],
    ['when it was never read', 'changed', { refreshedAt: null }],
    ['when it was never read, a draft too', 'changed', { status: 'draft', refreshedAt: null }],
    ['complete, just now', 'settling', { updatedAt: NOW }],
    ['complete, for almost settle_for', 'settling', { updatedAt: daysAgo(6.999) }],
    ['complete, changed after the time of the answer', 'settling', { updatedAt: daysAgo(-1) }],
    ['not, complete for settle_for', null, { updatedAt: daysAgo(7) }],
    ['not, refreshed max_age ago', null, { refreshedAt: daysAgo(30) }],
    ['when that is longer ago', 'old', { refreshedAt: daysAgo(30.001) }],
    ['as settling rather than old', 'settling', { updatedAt: daysAgo(2), refreshedAt: daysAgo(31) }],
  ])('%s: %s', (_, reason, change) => {
    expect(refreshReason(facts(change), NOW, rules)).toBe(reason)
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
  ])('with a weight: %s %d', (status, weight) => {
    expect(refreshWeight(status)).toBe(weight)
  })
})
