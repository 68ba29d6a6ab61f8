/** Which surveys are due, and in which order. `src/warehouse/queue/planned-surveys.ts` selects in SQL those that may be due by these rules. */
import { type Instant, minusMs, msBetween } from '../model/instant.js'
import type { SurveyFacts } from '../model/plan-facts.js'
import type { RefreshRules, RefreshWeights, TaskReason } from '../model/run.js'
import { believed } from './believed.js'

/** Nobody answers these surveys. They are refreshed only when they change. */
export const IDLE_STATUSES: readonly string[] = ['draft', 'user_demo']
const isIdle = (status: string): boolean => IDLE_STATUSES.includes(status)

/** The only statuses that are known to be inactive. */
export const INACTIVE_STATUSES: readonly string[] = [...IDLE_STATUSES, 'complete']

/** A status that this version does not know counts as active: better a request too many than a stale row. */
export const isActive = (status: string): boolean => !INACTIVE_STATUSES.includes(status)

/**
 * Why a survey is due now; null if it is not. Listings queue changed surveys themselves. Here `changed` means that the survey was
 * never read, or that its last reading is dated in the future.
 */
export const refreshReason = (survey: SurveyFacts, now: Instant, rules: RefreshRules): TaskReason | null => {
  const next = nextRefresh(survey, now, rules)
  return next === null || next.at > now ? null : next.reason
}

/** From when an unchanged survey is due, and why; null if only a change of its row makes it due. */
export const nextRefresh = (
  survey: SurveyFacts,
  now: Instant,
  rules: RefreshRules,
): { readonly reason: TaskReason; readonly at: Instant } | null => {
  if (survey.missing) return null
  const refreshedAt = believed(survey.refreshedAt, now)
  if (refreshedAt === null) return { reason: 'changed', at: now }
  if (isIdle(survey.status)) return null
  if (isActive(survey.status)) return { reason: 'active', at: now }
  const progressChangedAt = believed(survey.progressChangedAt, now)
  const quietSince = later(survey.updatedAt, progressChangedAt ?? survey.updatedAt)
  if (msBetween(quietSince, now) < rules.settle_for) return { reason: 'settling', at: now }
  const restMs = restBetweenRefreshesMs(msBetween(quietSince, refreshedAt), rules)
  return { reason: restMs < rules.max_age ? 'settling' : 'old', at: restEnd(refreshedAt, restMs) }
}

/**
 * How long a closed survey rests after a refresh that found it unchanged for `quietMs`: as long again as it has been unchanged since
 * it settled. So it is read after 1, 2, 4, 8 … days, and at least every `max_age`.
 */
export const restBetweenRefreshesMs = (
  quietMs: number,
  { settle_for: settleForMs, max_age: maxAgeMs }: Pick<RefreshRules, 'settle_for' | 'max_age'>,
): number => Math.min(maxAgeMs, Math.max(REST_MS_MIN, quietMs - settleForMs))

export const REST_MS_MIN = 86_400_000

/** A nightly run may read a survey late. Without this tolerance, the next night would find that it has not rested for a day. */
const restEnd = (since: Instant, restMs: number): Instant =>
  plusMs(since, Math.ceil(restMs - Math.min(EARLY_MS_MAX, restMs / 4)))

export const EARLY_MS_MAX = 6 * 3_600_000

/** Readings without a sign of a change are rarer for closed surveys. Weekly ones took a seventh of all requests and found nothing. */
export const rulesFor = (reason: TaskReason, rules: RefreshRules): RefreshRules => {
  const times = reason === 'settling' || reason === 'old' ? REREAD_LESS_OFTEN : 1
  return {
    ...rules,
    list_sources_every: times * rules.list_sources_every,
    recheck_unchanged_after: times * rules.recheck_unchanged_after,
  }
}

const REREAD_LESS_OFTEN = 12

/** Whether the list of a survey's sources is read again without a sign of a change. */
export const listsSources = (...parameters: Parameters<typeof listsSourcesFrom>): boolean => {
  const from = listsSourcesFrom(...parameters)
  return from === null || from <= parameters[2]
}

/** From when a reading of the survey lists its sources without a sign of a change; null if the next one does. */
export const listsSourcesFrom = (
  readAt: Instant | null,
  reason: TaskReason,
  now: Instant,
  { list_sources_every }: Pick<RefreshRules, 'list_sources_every'>,
): Instant | null => {
  const since = reason === 'changed' || reason === 'missing' ? null : believed(readAt, now)
  return since === null ? null : plusMs(since, list_sources_every)
}

const plusMs = (at: Instant, ms: number): Instant => minusMs(at, -ms)
const later = (one: Instant, other: Instant): Instant => (one > other ? one : other)

export const DEFAULT_WEIGHTS: RefreshWeights = Object.freeze({ fieldwork: 4, active: 2, other: 1 })

/** The weight of the time since the last refresh in the order of the queue, by the survey's status. */
export const refreshWeight = (status: string, weights: RefreshWeights): number => {
  if (status === 'fieldwork') return weights.fieldwork
  return isActive(status) ? weights.active : weights.other
}

/** Until when a refused survey rests. After one refusal the next run tries again; after more in a row, in 2, 4, 8 … days, at most `max_age`. */
export const refusalRestEnd = (
  { refusals, refusedAt }: { readonly refusals: number; readonly refusedAt: Instant | null },
  now: Instant,
  { max_age: maxAgeMs }: Pick<RefreshRules, 'max_age'>,
): Instant | null => {
  const since = believed(refusedAt, now)
  return refusals < 2 || since === null
    ? null
    : restEnd(since, Math.min(maxAgeMs, REST_MS_MIN * 2 ** (refusals - 1)))
}

export const restsAfterRefusal = (...parameters: Parameters<typeof refusalRestEnd>): boolean =>
  (refusalRestEnd(...parameters) ?? parameters[1]) > parameters[1]

/** The order of the queue, largest first: milliseconds since the last refresh (or since queuing, without one), times the weight. */
export const urgency = (waitedMs: number, weight: number): number => Math.max(0, waitedMs) * weight
