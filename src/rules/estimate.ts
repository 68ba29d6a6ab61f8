/**
 * How many requests the bundle of a survey takes: the only estimate, by the rules that later skip requests. Only whether the progress of
 * the survey changes is a guess.
 */
import type { Instant } from '../model/instant.js'
import type { PlannedSurvey, SurveyTotals } from '../model/plan-facts.js'
import type { RequestsByKind } from '../model/request-usage.js'
import type { RefreshRules, TaskReason } from '../model/run.js'
import { ageMs } from './believed.js'
import { dayRequests } from './daily-windows.js'
import { isActive, listsSources, rulesFor } from './refresh.js'

interface EstimateRules {
  readonly rules: RefreshRules
  /** Expected number of sources of a survey that was never read. */
  readonly sourcesEach: number
}

/** The requests of one bundle. With `readsAll` nothing is skipped, as if the survey had changed. */
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
    !rules.skip_unchanged ||
    ageMs(survey.sourceProgressReadAt, at) >= rules.recheck_unchanged_after
  const requests = {
    sample_sources: readsAll || listsSources(survey.sourcesReadAt, reason, at, rules) ? 1 : 0,
    survey_progress: 1,
    sample_source_progress: readsSources ? sources : 0,
    ...(rules.daily_windows === null || !readsSources
      ? {}
      : { daily_progress: dayRequests(rules.daily_windows, survey, sources) }),
  }
  // A budget stopped this bundle before, when its sources were known: it takes at least the requests counted then.
  const missing = (survey.task?.requestsNeeded ?? 0) - requestsIn(requests)
  return missing <= 0
    ? requests
    : { ...requests, sample_source_progress: requests.sample_source_progress + missing }
}

/** A survey whose progress changed at its last refresh is expected to change again. One that was read once changes if it is active. */
const isExpectedToMove = ({ moved, status }: PlannedSurvey): boolean => moved ?? isActive(status)

/** The average over all surveys with sources; 1 without any. */
export const sourcesOfEach = ({ sources, withSources }: SurveyTotals): number =>
  withSources === 0 ? 1 : sources / withSources

export const requestsIn = (requests: RequestsByKind): number => sum(Object.values(requests))

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0)
