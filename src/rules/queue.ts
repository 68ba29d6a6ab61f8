/** The queue of a run, computed from the stored rows. `sync` works through it and `plan` shows it, so both agree. Pure. */
import { type Instant, msBetween } from '../model/instant.js'
import type { PlannedSurvey, SurveyTotals } from '../model/plan-facts.js'
import type { RequestReason, RequestsByKind } from '../model/request-usage.js'
import type { RefreshRules, RefreshWeights, TaskReason } from '../model/run.js'
import { believed } from './believed.js'
import { added, bundleRequests, requestsIn, sourcesOfEach } from './estimate.js'
import { dueReason, isActive, isReadNightly, pausedUntil } from './refresh.js'

export interface Task {
  readonly surveyId: number
  readonly reason: TaskReason
  /** Whether every run reads the survey. */
  readonly isNightly: boolean
  /** Whether `_sync.tasks` has the survey. */
  readonly isQueued: boolean
  /** Whether an earlier run queued the survey. */
  readonly isLeftOver: boolean
  /** Whether an earlier run began to read the survey in parts. */
  readonly isBegun: boolean
  /** Whether an earlier run failed to read the survey, or a part of it. */
  readonly hasFailed: boolean
  /** Consecutive refusals of the survey by the API. */
  readonly refusals: number
  /** Whether this run lists all surveys and its pages have not shown this one. The survey may have gone since an earlier run saw it. */
  readonly isUnseen: boolean
  /** Requests that the survey's bundle is expected to take. */
  readonly requests: RequestsByKind
  /** Requests that the budget reserves for the survey: all of its requests, with nothing skipped. */
  readonly reserve: number
  /** Orders surveys of the same urgency, as most surveys of a first load are. Microseconds, exact as a number until 2255. */
  readonly createdAt: number
  /** When a run last read the survey, or failed to read it. If none has tried: when it was queued, at the latest when this run began. */
  readonly since: Instant
  readonly urgency: number
}

interface QueueRules {
  readonly refresh: RefreshRules
  /** Whether surveys are read without a pause after refusals, or after readings that did not end. */
  readonly full: boolean
  /** Whether `sync --surveys` names every survey that is added. */
  readonly isRequested?: boolean
  /** When the run began to list all surveys, server time; null if it does not list all. */
  readonly listsAllSince?: Instant | null
  /** When the run began, server time; by default now. All that it queues itself waits since then, on whichever page it was listed. */
  readonly begunAt?: Instant | null
}

/** The surveys that are due and excluded, and the requests that reading them is expected to take. */
export interface ExcludedSurveys {
  readonly surveys: number
  readonly requests: RequestsByKind
}

/** Surveys are added one by one, so that only the task of a survey stays in memory. Tasks of other runs than `runId` are left over. */
export const createQueue = (
  totals: SurveyTotals,
  at: Instant,
  { refresh, full, isRequested = false, listsAllSince = null, begunAt = null }: QueueRules,
  runId: string | null,
) => {
  const estimate = { rules: refresh, sourcesEach: sourcesOfEach(totals) }
  const due: Task[] = []
  let { present: notDue, sources: sourcesNotDue } = totals
  let paused = 0
  const excluded: RequestsByKind[] = []
  return {
    /** Returns whether the survey is due and not paused. */
    add: (survey: PlannedSurvey): boolean => {
      const reason = isRequested
        ? requestedReason(survey)
        : (survey.task?.reason ?? dueReason(survey, at, refresh))
      if (reason === null) return false
      if (!survey.missing) {
        notDue -= 1
        sourcesNotDue -= survey.sources
      }
      if (!full && !isRequested && survey.task !== null && isPaused(survey, survey.task, at, refresh)) {
        paused += 1
        return false
      }
      if (survey.excludedBy !== null && !isRequested) {
        excluded.push(bundleRequests(survey, reason, at, estimate))
        return false
      }
      const task = taskOf(survey, reason, { at, begunAt: begunAt ?? at }, estimate, runId)
      const isUnseen =
        reason === 'missing' || (listsAllSince !== null && (survey.listedAt ?? 0n) < listsAllSince)
      due.push({ ...task, isUnseen, isLeftOver: task.isLeftOver && !isRequested })
      return true
    },
    sorted: () => ({
      /** The most urgent first; among equals the newest survey. */
      tasks: due.toSorted(byUrgency),
      /** Queued surveys that are paused: the API refused them, or no run could read them to their end. */
      paused,
      excluded: { surveys: excluded.length, requests: added(excluded) },
      /** The requests that reading every other survey with all its sources would take. */
      notDue: { sample_sources: notDue, survey_progress: notDue, sample_source_progress: sourcesNotDue },
    }),
  }
}

/** A task keeps the reason `missing`, because only this reason distinguishes a survey that is gone from a refused one. */
const requestedReason = ({ task }: PlannedSurvey): TaskReason =>
  task?.reason === 'missing' ? 'missing' : 'requested'

/**
 * Whether a survey is paused because the API refused it, or because no run could read it to its end. If its progress was read at the last
 * refusal, only another endpoint refuses the survey, and its progress is read as often as that of any other survey.
 */
const isPaused = (
  survey: PlannedSurvey,
  task: NonNullable<PlannedSurvey['task']>,
  at: Instant,
  refresh: RefreshRules,
): boolean => {
  if (pausedUntil(task.unfinished, task.unfinishedAt, at, refresh) !== null) return true
  if (pausedUntil(task.refusals, task.refusedAt, at, refresh) === null) return false
  const { refreshedAt } = survey
  const hasProgress = refreshedAt !== null && task.refusedAt !== null && refreshedAt >= task.refusedAt
  return !hasProgress || dueReason(survey, at, refresh) === null
}

const taskOf = (
  survey: PlannedSurvey,
  reason: TaskReason,
  { at, begunAt }: { readonly at: Instant; readonly begunAt: Instant },
  estimate: Parameters<typeof bundleRequests>[3],
  runId: string | null,
): Omit<Task, 'isUnseen'> => {
  const since = waitsSince(survey, at, begunAt)
  const weight = refreshWeight(survey.status, estimate.rules.weights)
  return {
    surveyId: survey.id,
    reason,
    isNightly: isReadNightly(survey),
    isQueued: survey.task !== null,
    isLeftOver: survey.task !== null && survey.task.runId !== runId,
    isBegun: survey.task !== null && survey.task.unfinishedAt !== null,
    hasFailed: (survey.task?.failedAt ?? null) !== null,
    refusals: survey.task?.refusals ?? 0,
    requests: bundleRequests(survey, reason, at, estimate),
    reserve: requestsIn(bundleRequests(survey, reason, at, estimate, true)),
    createdAt: Number(survey.createdAt),
    since,
    urgency: urgency(msBetween(since, at), weight),
  }
}

export const DEFAULT_WEIGHTS: RefreshWeights = Object.freeze({ fieldwork: 4, active: 2, other: 1 })

/** The weight of the time since the last attempt in the order of the queue, by the survey's status. */
export const refreshWeight = (status: string, weights: RefreshWeights): number => {
  if (status === 'fieldwork') return weights.fieldwork
  return isActive(status) ? weights.active : weights.other
}

/** The order of the queue, largest first: milliseconds since the last attempt (or since queuing, without one), times the weight. */
export const urgency = (waitedMs: number, weight: number): number => Math.max(0, waitedMs) * weight

/** A failed attempt is a turn as a reading is. Otherwise surveys that always fail would come first in every run. */
const waitsSince = ({ refreshedAt, task }: PlannedSurvey, at: Instant, begunAt: Instant): Instant => {
  const readAt = believed(refreshedAt, at)
  const failedAt = believed(task?.failedAt ?? null, at)
  const triedAt = (failedAt ?? 0n) > (readAt ?? 0n) ? failedAt : readAt
  const queuedAt = task?.enqueuedAt ?? begunAt
  return triedAt ?? (queuedAt < begunAt ? queuedAt : begunAt)
}

/** A survey that did not fit into an earlier run comes after all others. */
const byUrgency = (a: Task, b: Task): number =>
  Number(a.isBegun) - Number(b.isBegun) ||
  b.urgency - a.urgency ||
  b.createdAt - a.createdAt ||
  b.surveyId - a.surveyId

export const requestReasonOf = ({
  reason,
  isLeftOver,
}: Pick<Task, 'reason' | 'isLeftOver'>): RequestReason => (isLeftOver ? 'left_over' : reason)
