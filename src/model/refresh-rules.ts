/**
 * Which surveys are due, and in which order: pure rules over what is stored (design §4, "Queue"). New interviews do
 * not move a survey's `updated_at`, so the listing alone cannot say what to read again.
 */
import { ageMs, believed } from './believed.js'
import { type Instant, msBetween } from './instant.js'
import type { RefreshRules, RefreshWeights, TaskReason } from './run.js'
import { isActive, isIdle } from './survey-status.js'

/** What is known of a survey when the queue is filled. Instants are the server's time. */
export interface SurveyFacts {
  readonly id: number
  readonly status: string
  readonly updatedAt: Instant
  /** When its sources and progress were last read; null = never. */
  readonly refreshedAt: Instant | null
  /** When its progress was last found to differ from what was read before; null = never. */
  readonly progressChangedAt: Instant | null
  readonly missing: boolean
}

/**
 * Why a survey is due now, or null when it is not. The listing itself queues `changed` surveys; here the reason stands
 * only for one that was never read, or was read at a time that lies ahead of now.
 */
export const refreshReason = (survey: SurveyFacts, now: Instant, rules: RefreshRules): TaskReason | null => {
  if (survey.missing) return null
  const refreshedAt = believed(survey.refreshedAt, now)
  if (refreshedAt === null) return 'changed'
  if (isIdle(survey.status)) return null
  if (isActive(survey.status)) return 'active'
  const progressChangedAt = believed(survey.progressChangedAt, now)
  const quietSince = later(survey.updatedAt, progressChangedAt ?? survey.updatedAt)
  if (msBetween(quietSince, now) < rules.settleForMs) return 'settling'
  const restMs = restBetweenRefreshesMs(msBetween(quietSince, refreshedAt), rules)
  if (msBetween(refreshedAt, now) < restMs - earlyMs(restMs)) return null
  return restMs < rules.maxAgeMs ? 'settling' : 'old'
}

/**
 * How long a survey that is over rests after a refresh that found it quiet for `quietMs`: as long again as it has been
 * quiet since it settled, so that it is read after 1, 2, 4, 8 … days, and no less often than every `maxAgeMs`.
 */
export const restBetweenRefreshesMs = (
  quietMs: number,
  { settleForMs, maxAgeMs }: Pick<RefreshRules, 'settleForMs' | 'maxAgeMs'>,
): number => Math.min(maxAgeMs, Math.max(REST_MS_MIN, quietMs - settleForMs))

const REST_MS_MIN = 86_400_000

/**
 * A nightly run reads a survey some time between its beginning and its end, and looks in the next night whether it has
 * rested for a day shortly after its beginning: without some leave it would rest for two.
 */
const earlyMs = (restMs: number): number => Math.min(EARLY_MS_MAX, restMs / 4)

const EARLY_MS_MAX = 6 * 3_600_000

/**
 * The rules for a survey that is due for this reason. What is read again although nothing betrays a change is read less often where
 * the survey is over: hardly anything changes there, and after a week with every refresh it made a seventh of all requests and found nothing.
 */
export const rulesFor = (reason: TaskReason, rules: RefreshRules): RefreshRules => {
  const times = reason === 'settling' || reason === 'old' ? REREAD_LESS_OFTEN : 1
  return {
    ...rules,
    listSourcesEveryMs: times * rules.listSourcesEveryMs,
    recheckUnchangedAfterMs: times * rules.recheckUnchangedAfterMs,
  }
}

const REREAD_LESS_OFTEN = 12

/** Whether the list of a survey's sources is read again although nothing has betrayed a change yet. */
export const listsSources = (
  readAt: Instant | null,
  reason: TaskReason,
  now: Instant,
  { listSourcesEveryMs }: Pick<RefreshRules, 'listSourcesEveryMs'>,
): boolean => reason === 'changed' || reason === 'missing' || ageMs(readAt, now) >= listSourcesEveryMs

const later = (one: Instant, other: Instant): Instant => (one > other ? one : other)

export const DEFAULT_WEIGHTS: RefreshWeights = Object.freeze({ fieldwork: 4, active: 2, other: 1 })

/** The weight of the time since the last refresh in the order of the queue, by what the survey's status says. */
export const refreshWeight = (status: string, weights: RefreshWeights): number => {
  if (status === 'fieldwork') return weights.fieldwork
  return isActive(status) ? weights.active : weights.other
}

/** How often in a row the API refused what was asked of a survey, and when last by the server's time. */
interface Refused {
  readonly refusals: number
  readonly refusedAt: Instant | null
}

/**
 * Whether a survey that was refused is left alone for now. The next run asks again; after more refusals in a row it
 * rests for 2, 4, 8 … days, and no longer than `maxAgeMs`.
 */
export const restsAfterRefusal = (
  { refusals, refusedAt }: Refused,
  now: Instant,
  { maxAgeMs }: Pick<RefreshRules, 'maxAgeMs'>,
): boolean => {
  if (refusals < 2) return false
  const restMs = Math.min(maxAgeMs, REST_MS_MIN * 2 ** (refusals - 1))
  return ageMs(refusedAt, now) < restMs - earlyMs(restMs)
}

/** What the queue goes by: the larger, the earlier. Milliseconds since the last refresh, or since it was queued where there was none, weighted. */
export const urgency = (waitedMs: number, weight: number): number => Math.max(0, waitedMs) * weight
