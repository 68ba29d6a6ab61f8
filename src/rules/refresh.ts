/** When a survey is read again (docs/explanation/request-budget.md#when-a-survey-is-read). Pure. */
import { DAY_MS, HOUR_MS } from '../base/durations.js'
import { type Instant, minusMs, msBetween } from '../model/instant.js'
import type { SurveyFacts } from '../model/plan-facts.js'
import type { RefreshRules, TaskReason } from '../model/run.js'
import { believed } from './believed.js'

/** The only statuses in which nobody answers a survey. */
export const INACTIVE_STATUSES: readonly string[] = ['draft', 'user_demo', 'complete']

/** A status that this version does not know counts as active, because a request too many is better than a stale row. */
export const isActive = (status: string): boolean => !INACTIVE_STATUSES.includes(status)

/** Whether every run reads the survey. If a list leaves out the survey or some of its sources, no listing shows their changes. */
export const isReadNightly = ({ status, leftOut }: Pick<SurveyFacts, 'status' | 'leftOut'>): boolean =>
  isActive(status) || leftOut

/** When a survey becomes due, server time, and why. */
export interface DueSurvey {
  readonly reason: TaskReason
  readonly at: Instant
}

/**
 * When a survey becomes due without a change in the listing, which queues it at once; null if it is missing. An active survey is due every
 * night. An inactive survey waits as long as the time between its last change and its last reading, so it is read 1, 2, 4, 8 … days after a
 * change. The reason `changed` here means that the survey was never read, or that its last reading is dated in the future.
 */
export const nextReading = (
  survey: SurveyFacts,
  now: Instant,
  { max_age: maxAgeMs }: WaitRules,
): DueSurvey | null => {
  if (survey.missing) return null
  const refreshedAt = believed(survey.refreshedAt, now)
  if (refreshedAt === null) return { reason: 'changed', at: now }
  if (isReadNightly(survey)) return { reason: 'active', at: now }
  const unchangedMs = msBetween(believed(survey.changedAt, now) ?? refreshedAt, refreshedAt)
  return { reason: 'inactive', at: waitEnd(refreshedAt, Math.min(maxAgeMs, Math.max(DAY_MS, unchangedMs))) }
}

type WaitRules = Pick<RefreshRules, 'max_age'>

/** Why a survey is due now without a change in the listing; null if it is not. */
export const dueReason = (survey: SurveyFacts, now: Instant, rules: WaitRules): TaskReason | null => {
  const next = nextReading(survey, now, rules)
  return next === null || next.at > now ? null : next.reason
}

const EARLY_MS_MAX = 6 * HOUR_MS

/**
 * An interval of nights, shortened by up to six hours. A nightly run may reach a survey late. Without this tolerance, the next night would
 * find that the interval has not passed.
 */
export const tolerant = (intervalMs: number): number => intervalMs - Math.min(EARLY_MS_MAX, intervalMs / 4)

const waitEnd = (since: Instant, waitMs: number): Instant => minusMs(since, -Math.ceil(tolerant(waitMs)))

/** Whether all of the survey is read, even what equals the stored rows. */
export const isReadWhole = (reason: TaskReason): boolean => reason === 'missing' || reason === 'requested'

/** The facts that decide whether the progress of a survey's sources is read, after its list of sources and its own progress. */
export interface SourceReading {
  /** Whether every run reads the survey. */
  readonly isNightly: boolean
  /** Whether list and progress equal the stored ones, and the progress of every source is stored. */
  readonly isUnchanged: boolean
  /** How long ago the progress of the sources was last read, ms. */
  readonly ageMs: number
}

/**
 * Two sources can change by opposite numbers, which no sum shows. So the sources of an active survey are read again after
 * `recheck_sources_after` (0: the sources of every due survey).
 */
export const readsSources = (
  { isNightly, isUnchanged, ageMs }: SourceReading,
  { recheck_sources_after: recheckMs }: Pick<RefreshRules, 'recheck_sources_after'>,
): boolean => !isUnchanged || recheckMs === 0 || (isNightly && ageMs >= tolerant(recheckMs))

/**
 * The end of the pause of a survey after `attempts` in a row, the last at `lastAt`, that read nothing new: the API refused the survey, or
 * no run could read it to its end. After one attempt the next run tries again; after further attempts the pause is 2, 4, 8 … days, at most
 * `max_age`. Null without a pause.
 */
export const pausedUntil = (
  attempts: number,
  lastAt: Instant | null,
  now: Instant,
  { max_age: maxAgeMs }: WaitRules,
): Instant | null => {
  const since = believed(lastAt, now)
  if (attempts < 2 || since === null) return null
  const end = waitEnd(since, Math.min(maxAgeMs, DAY_MS * 2 ** (attempts - 1)))
  return end > now ? end : null
}
