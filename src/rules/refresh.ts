/** Which surveys are due, and in which order. `src/warehouse/queue/planned-surveys.ts` selects in SQL those that may be due by these rules. */
import { type Instant, instantFromMs, minusMs, msBetween } from '../model/instant.js'
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
export const nextRefresh = (survey: SurveyFacts, now: Instant, rules: RefreshRules): NextRefresh | null => {
  if (survey.missing) return null
  const refreshedAt = believed(survey.refreshedAt, now)
  if (refreshedAt === null) return { reason: 'changed', at: now }
  // No listing shows its changes, or those of its sources, so it is read in every run.
  if (isActive(survey.status) || survey.leftOut) return { reason: 'active', at: now }
  const refresh = isIdle(survey.status) ? null : nextOfClosed(survey, refreshedAt, now, rules)
  const list = nextList(survey, now, rules)
  if (refresh === null || list === null || refresh.at <= now) return refresh ?? list
  return refresh.at <= list.at ? refresh : list
}

interface NextRefresh {
  readonly reason: TaskReason
  readonly at: Instant
}

/**
 * A closed survey rests as long again as its last refresh found it unchanged since it settled, and at least a day. So it is read after
 * 1, 2, 4, 8 … days, and at least as often as `longestRestEnd` says.
 */
const nextOfClosed = (
  survey: SurveyFacts,
  refreshedAt: Instant,
  now: Instant,
  rules: RefreshRules,
): NextRefresh => {
  const progressChangedAt = believed(survey.progressChangedAt, now)
  const quietSince = later(survey.statusSince, progressChangedAt ?? survey.statusSince)
  if (msBetween(quietSince, now) < rules.settle_for) return { reason: 'settling', at: now }
  const restMs = Math.max(REST_MS_MIN, msBetween(quietSince, refreshedAt) - rules.settle_for)
  const [rested, old] = [restEnd(refreshedAt, restMs), longestRestEnd(survey.id, refreshedAt, rules)]
  return rested < old ? { reason: 'settling', at: rested } : { reason: 'old', at: old }
}

export const REST_MS_MIN = 86_400_000

/**
 * Where sources change without their survey, the list of an inactive survey rests half as long as both have been unchanged: a change
 * that comes alone is found sooner where it is more likely. Null in other accounts, or if the list was not read as a whole.
 */
const nextList = (survey: SurveyFacts, now: Instant, rules: RefreshRules): NextRefresh | null => {
  if (!survey.changeAlone || survey.sourcesReadAt === null) return null
  const readAt = believed(survey.sourcesReadAt, now)
  if (readAt === null) return { reason: 'sources', at: now }
  const quietSince = later(survey.updatedAt, survey.sourcesChangedAt ?? survey.updatedAt)
  const restMs = Math.max(REST_MS_MIN, msBetween(quietSince, readAt) / LIST_REST_DIVISOR)
  const next = [restEnd(readAt, restMs), longestRestEnd(survey.id, readAt, rules)] as const
  return { reason: 'sources', at: earlier(...next) }
}

export const LIST_REST_DIVISOR = 2

/**
 * A survey rests at most for `max_age`, until the last of its own moments before that. These are half of `max_age` apart, and other
 * surveys have others: a first load reads all closed surveys in one night, and otherwise they would all be due again in one night. From
 * then on, the readings are `max_age` apart.
 */
const longestRestEnd = (
  id: number,
  since: Instant,
  { max_age: maxAgeMs }: Pick<RefreshRules, 'max_age'>,
): Instant => {
  const { inMaxAge, places, step } = MOMENTS
  const [maxAge, early] = [instantFromMs(maxAgeMs), instantFromMs(Math.min(EARLY_MS_MAX, maxAgeMs / 4))]
  const apart = maxAge / inMaxAge
  if (apart === 0n) return since
  const first = (((BigInt(Math.abs(id)) * step) % places) * apart) / places
  const latest = since + maxAge + early
  return earlier(latest - ((latest - first) % apart) - early, restEnd(since, maxAgeMs))
}

/** Consecutive ids are `step` of `places` apart, which is the golden section, so their moments spread evenly. */
export const MOMENTS = Object.freeze({ inMaxAge: 2n, places: 997n, step: 616n })

/** A nightly run may read a survey late. Without this tolerance, the next night would find that it has not rested for a day. */
const restEnd = (since: Instant, restMs: number): Instant =>
  plusMs(since, Math.ceil(restMs - Math.min(EARLY_MS_MAX, restMs / 4)))

export const EARLY_MS_MAX = 6 * 3_600_000

const isClosed = (reason: TaskReason): boolean => reason === 'settling' || reason === 'old'

/**
 * Readings without a sign of a change are rarer for closed surveys, and for those of which only the list is due. Weekly ones took a seventh
 * of all requests and found nothing.
 */
export const rulesFor = (reason: TaskReason, rules: RefreshRules): RefreshRules =>
  isClosed(reason) || reason === 'sources'
    ? { ...rules, recheck_unchanged_after: 12 * rules.recheck_unchanged_after }
    : rules

/** What the time of the next list of a survey's sources depends on. */
export interface ListFacts {
  /** When the list was last read with every row typed; null = never. */
  readonly sourcesReadAt: Instant | null
  /** When the last of the sources changed, by the API; null without sources. */
  readonly sourcesChangedAt: Instant | null
}

/** Whether the list of a survey's sources is read again without a sign of a change. */
export const listsSources = (...parameters: Parameters<typeof listsSourcesFrom>): boolean => {
  const from = listsSourcesFrom(...parameters)
  return from === null || from <= parameters[2]
}

/**
 * From when a reading of the survey lists its sources without a sign of a change; null if the next one does. Sources that have not changed
 * for long are listed more rarely: after a fifth of that time, at most four times `list_sources_every`.
 */
export const listsSourcesFrom = (
  { sourcesReadAt, sourcesChangedAt }: ListFacts,
  { reason, isTouched }: { readonly reason: TaskReason; readonly isTouched: boolean },
  now: Instant,
  { list_sources_every: everyMs }: Pick<RefreshRules, 'list_sources_every'>,
): Instant | null => {
  const isSign = reason === 'missing' || reason === 'sources' || (reason === 'changed' && !isTouched)
  const since = isSign ? null : believed(sourcesReadAt, now)
  if (since === null) return null
  if (isClosed(reason)) return restEnd(since, CLOSED_LIST_FACTOR * everyMs)
  const quietMs = sourcesChangedAt === null ? 0 : msBetween(sourcesChangedAt, since)
  return restEnd(since, Math.max(everyMs, Math.min(4 * everyMs, quietMs / 5)))
}

/** Lists of closed surveys are read with their progress so much more rarely. */
const CLOSED_LIST_FACTOR = 42

const plusMs = (at: Instant, ms: number): Instant => minusMs(at, -ms)
const later = (one: Instant, other: Instant): Instant => (one > other ? one : other)
const earlier = (one: Instant, other: Instant): Instant => (one > other ? other : one)

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
  { max_age: maxAgeMs }: Pick<RefreshRules, 'max_age'>,
): Instant | null => {
  const since = believed(lastAt, now)
  if (attempts < 2 || since === null) return null
  const end = restEnd(since, Math.min(maxAgeMs, REST_MS_MIN * 2 ** (attempts - 1)))
  return end > now ? end : null
}

/** The order of the queue, largest first: milliseconds since the last refresh (or since queuing, without one), times the weight. */
export const urgency = (waitedMs: number, weight: number): number => Math.max(0, waitedMs) * weight
