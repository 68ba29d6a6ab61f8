/** Which surveys are due, and in which order. `src/warehouse/queue/planned-surveys.ts` selects in SQL those that may be due by these rules. */
import { type Instant, msBetween } from '../model/instant.js'
import type { SurveyFacts } from '../model/plan-facts.js'
import type { RefreshRules, RefreshWeights, TaskReason } from '../model/run.js'
import { ageMs, believed } from './believed.js'

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
  if (survey.missing) return null
  const refreshedAt = believed(survey.refreshedAt, now)
  if (refreshedAt === null) return 'changed'
  if (isIdle(survey.status)) return null
  if (isActive(survey.status)) return 'active'
  const progressChangedAt = believed(survey.progressChangedAt, now)
  const quietSince = later(survey.updatedAt, progressChangedAt ?? survey.updatedAt)
  if (msBetween(quietSince, now) < rules.settle_for) return 'settling'
  const restMs = restBetweenRefreshesMs(msBetween(quietSince, refreshedAt), rules)
  if (msBetween(refreshedAt, now) < restMs - earlyMs(restMs)) return null
  return restMs < rules.max_age ? 'settling' : 'old'
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
const earlyMs = (restMs: number): number => Math.min(EARLY_MS_MAX, restMs / 4)

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
export const listsSources = (
  readAt: Instant | null,
  reason: TaskReason,
  now: Instant,
  { list_sources_every }: Pick<RefreshRules, 'list_sources_every'>,
): boolean => reason === 'changed' || reason === 'missing' || ageMs(readAt, now) >= list_sources_every

const later = (one: Instant, other: Instant): Instant => (one > other ? one : other)

export const DEFAULT_WEIGHTS: RefreshWeights = Object.freeze({ fieldwork: 4, active: 2, other: 1 })

/** The weight of the time since the last refresh in the order of the queue, by the survey's status. */
export const refreshWeight = (status: string, weights: RefreshWeights): number => {
  if (status === 'fieldwork') return weights.fieldwork
  return isActive(status) ? weights.active : weights.other
}

/** Whether a refused survey rests. After one refusal the next run tries again; after more in a row, in 2, 4, 8 … days, at most `max_age`. */
export const restsAfterRefusal = (
  { refusals, refusedAt }: { readonly refusals: number; readonly refusedAt: Instant | null },
  now: Instant,
  { max_age: maxAgeMs }: Pick<RefreshRules, 'max_age'>,
): boolean => {
  if (refusals < 2) return false
  const restMs = Math.min(maxAgeMs, REST_MS_MIN * 2 ** (refusals - 1))
  return ageMs(refusedAt, now) < restMs - earlyMs(restMs)
}

/** The order of the queue, largest first: milliseconds since the last refresh (or since queuing, without one), times the weight. */
export const urgency = (waitedMs: number, weight: number): number => Math.max(0, waitedMs) * weight
