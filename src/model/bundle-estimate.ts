/**
 * How many requests the bundle of a survey takes. This is the only estimate: the queue, the budget and `plan` use it. It
 * asks the same rules that later skip requests. Only whether the progress of the survey moves has to be guessed.
 */
import { ageMs } from './believed.js'
import { dayRequests } from './daily-windows.js'
import type { Instant } from './instant.js'
import type { PlannedSurvey } from './plan-facts.js'
import { listsSources, rulesFor } from './refresh-rules.js'
import type { RequestsByKind } from './request-usage.js'
import type { RefreshRules, TaskReason } from './run.js'
import { isActive } from './survey-status.js'

export interface EstimateRules {
  readonly rules: RefreshRules
  /** Sources that a survey which was never read is expected to have. */
  readonly sourcesEach: number
}

/** The requests of one bundle. With `readsAll` nothing is skipped: what it takes if the survey is found to have changed. */
export const bundleRequests = (
  survey: PlannedSurvey,
  reason: TaskReason,
  at: Instant,
  { rules: anyRules, sourcesEach }: EstimateRules,
  readsAll = false,
): RequestsByKind => {
  const rules = rulesFor(reason, anyRules)
  const sources = survey.refreshedAt === null ? Math.round(sourcesEach) : survey.sources
  const readsSources =
    readsAll ||
    isExpectedToMove(survey) ||
    survey.refreshedAt === null ||
    reason === 'missing' ||
    !rules.skipUnchanged ||
    ageMs(survey.sourceProgressReadAt, at) >= rules.recheckUnchangedAfterMs
  const requests = {
    sample_sources: readsAll || listsSources(survey.sourcesReadAt, reason, at, rules) ? 1 : 0,
    survey_progress: 1,
    sample_source_progress: readsSources ? sources : 0,
    ...(rules.dailyWindows === null || !readsSources
      ? {}
      : { daily_progress: dayRequests(rules.dailyWindows, survey, sources) }),
  }
  // A budget stopped this bundle once, when its sources were known: it takes no less than was found then.
  const missing = (survey.task?.requestsNeeded ?? 0) - requestsIn(requests)
  return missing <= 0
    ? requests
    : { ...requests, sample_source_progress: requests.sample_source_progress + missing }
}

/** A survey that moved at its last refresh is expected to move again. One that was read once moves if it is live. */
const isExpectedToMove = ({ moved, status }: PlannedSurvey): boolean => moved ?? isActive(status)

/** The average of all surveys that have sources; at least one. */
export const sourcesOfEach = (surveys: readonly PlannedSurvey[]): number => {
  const counts = surveys.map(({ sources }) => sources).filter((sources) => sources > 0)
  return counts.length === 0 ? 1 : sum(counts) / counts.length
}

export const requestsIn = (requests: RequestsByKind): number => sum(Object.values(requests))

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0)
