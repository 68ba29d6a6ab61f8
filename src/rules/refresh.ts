/** When a survey is read again, and in which order (docs/explanation/request-budget.md#when-a-survey-is-read). Pure. */
import { DAY_MS, HOUR_MS } from '../base/durations.js'
import { type Instant, minusMs, msBetween } from '../model/instant.js'
import type { SurveyFacts } from '../model/plan-facts.js'
import type { RefreshRules, RefreshWeights, TaskReason } from '../model/run.js'
import { believed } from './believed.js'

/** The only statuses in which nobody answers a survey. */
export const INACTIVE_STATUSES: readonly string[] = ['draft', 'user_demo', 'complete']

/** A status that this version does not know counts as active: better a request too many than a stale row. */
export const isActive = (status: string): boolean => !INACTIVE_STATUSES.includes(status)

/**
 * Whether every run reads the survey. No listing shows the changes of one that the list leaves out, and no list of sources those of
 * sources that it leaves out.
 */
export const isReadNightly = ({ status, leftOut }: Pick<SurveyFacts, 'status' | 'leftOut'>): boolean =>
  isActive(status) || leftOut

/** From when a survey is due, server time, and why. */
export interface DueSurvey {
  readonly reason: TaskReason
  readonly at: Instant
}

/**
 * From when a survey is due without a change in the listing, which queues it at once; null if it is missing. An active survey is due every
 * night. An inactive one waits as long as lay between its last change and its last reading, so it is read 1, 2, 4, 8 … days after a change.
 * `changed` here: it was never read, or its last reading is dated in the future.
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
 * An interval of nights, up to six hours shorter. A nightly run may come to something late: without this tolerance, the next night would
 * find that the interval has not passed.
 */
export const tolerant = (intervalMs: number): number => intervalMs - Math.min(EARLY_MS_MAX, intervalMs / 4)

const waitEnd = (since: Instant, waitMs: number): Instant => minusMs(since, -Math.ceil(tolerant(waitMs)))

/** Whether all of the survey is read, whatever equals the stored rows. */
export const isReadWhole = (reason: TaskReason): boolean => reason === 'missing' || reason === 'requested'

/** What decides whether the progress of a survey's sources is read, once its list of sources and its own progress were. */
export interface SourceReading {
  /** Every run reads the survey. */
  readonly isNightly: boolean
  /** Both equal what is stored, and the progress of every source is stored. */
  readonly isUnchanged: boolean
  /** For so long (ms) the progress of the sources was not read. */
  readonly ageMs: number
}

/**
 * Two sources can move by opposite numbers, which shows in no sum: those of an active survey are read again after `recheck_sources_after`
 * (0: those of every survey that is due).
 */
export const readsSources = (
  { isNightly, isUnchanged, ageMs }: SourceReading,
  { recheck_sources_after: recheckMs }: Pick<RefreshRules, 'recheck_sources_after'>,
): boolean => !isUnchanged || recheckMs === 0 || (isNightly && ageMs >= tolerant(recheckMs))

export const DEFAULT_WEIGHTS: RefreshWeights = Object.freeze({ fieldwork: 4, active: 2, other: 1 })

/** The weight of the time since the last refresh in the order of the queue, by the survey's status. */
export const refreshWeight = (status: string, weights: RefreshWeights): number => {
  if (status === 'fieldwork') return weights.fieldwork
  return isActive(status) ? weights.active : weights.other
}

/**
 * Until when a survey rests after `attempts` in a row, the last at `lastAt`, that read nothing new of it: the API refused it, or no run
 * could end it. After one attempt the next run tries again; after more in 2, 4, 8 … days, at most `max_age`. Null if it does not rest.
 */
export const restsUntil = (
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

/** The order of the queue, largest first: milliseconds since the last refresh (or since queuing, without one), times the weight. */
export const urgency = (waitedMs: number, weight: number): number => Math.max(0, waitedMs) * weight
