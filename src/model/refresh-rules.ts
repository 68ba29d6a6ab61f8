/**
 * Which surveys are due, and in which order: pure rules over what is stored (design §4, "Queue"). New interviews do
 * not move a survey's `updated_at`, so the listing alone cannot say what to read again.
 */
import { type Instant, msBetween } from './instant.js'
import type { RefreshRules, TaskReason } from './run.js'

/** What is known of a survey when the queue is filled. Instants are the server's time. */
export interface SurveyFacts {
  readonly id: number
  readonly status: string
  readonly updatedAt: Instant
  /** When its sources and progress were last read; null = never. */
  readonly refreshedAt: Instant | null
  readonly missing: boolean
}

/**
 * Why a survey is due now, or null when it is not. `changed` surveys are queued by the listing itself; here the
 * reason stands only for one that was never read and, against all expectation, is not queued.
 */
export const refreshReason = (survey: SurveyFacts, now: Instant, rules: RefreshRules): TaskReason | null => {
  if (survey.missing) return null
  if (survey.refreshedAt === null) return 'changed'
  if (isIdle(survey.status)) return null
  if (isLive(survey.status)) return 'live'
  if (msBetween(survey.updatedAt, now) < rules.settleForMs) return 'settling'
  return msBetween(survey.refreshedAt, now) > rules.maxAgeMs ? 'old' : null
}

/**
 * The weight of the time since the last refresh in the order of the queue. Age grows without bound, so every
 * queued survey comes first some day, whatever its weight.
 */
export const refreshWeight = (status: string): number => {
  if (status === 'fieldwork') return 4
  return isLive(status) ? 2 : 1
}

/** Surveys that nobody answers: refreshed only when they change. */
const IDLE_STATUSES: readonly string[] = ['draft', 'user_demo']
const isIdle = (status: string): boolean => IDLE_STATUSES.includes(status)

/** The only statuses that are known not to be live. */
export const STATUSES_NOT_LIVE: readonly string[] = [...IDLE_STATUSES, 'complete']

/** A status that this version does not know counts as live: better a request too many than a stale row. */
export const isLive = (status: string): boolean => !STATUSES_NOT_LIVE.includes(status)
