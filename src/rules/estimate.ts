/**
 * How many requests the reading of a survey takes, by the rules that later skip requests. Only one input is a guess, namely whether the
 * progress has changed: an active survey whose last reading found a change is expected to change again.
 */
import { sum } from 'd3-array'
import type { Instant } from '../model/instant.js'
import type { PlannedSurvey, SurveyTotals } from '../model/plan-facts.js'
import { REQUEST_KINDS, type RequestsByKind } from '../model/request-usage.js'
import type { RefreshRules, TaskReason } from '../model/run.js'
import { ageMs } from './believed.js'
import { isActive, isReadNightly, isReadWhole, readsSources } from './refresh.js'
import { dayRequests } from './windows.js'

interface EstimateRules {
  readonly rules: RefreshRules
  /** Expected number of sources of a survey that was never read. */
  readonly sourcesEach: number
}

/** The requests of one survey. With `readsAll` nothing is skipped, as if the survey had changed. */
export const bundleRequests = (
  survey: PlannedSurvey,
  reason: TaskReason,
  at: Instant,
  { rules, sourcesEach }: EstimateRules,
  readsAll = false,
): RequestsByKind => {
  const sources = survey.refreshedAt === null ? Math.round(sourcesEach) : survey.sources
  const isExpectedToMove = isActive(survey.status) && survey.moved !== false
  const isChanged = readsAll || survey.refreshedAt === null || isReadWhole(reason) || isExpectedToMove
  const reading = {
    isNightly: isReadNightly(survey),
    isUnchanged: !isChanged,
    ageMs: ageMs(survey.sourceProgressReadAt, at),
  }
  const isRead = readsSources(reading, rules)
  const requests = {
    sample_sources: 1,
    survey_progress: 1,
    sample_source_progress: isRead ? sources : 0,
    ...(rules.daily_windows === null || !isRead
      ? {}
      : { daily_progress: dayRequests(rules.daily_windows, survey, sources) }),
  }
  // A budget has stopped this survey before, when its sources were known. It takes at least the requests that were counted at that time.
  const lacking = (survey.task?.requestsNeeded ?? 0) - requestsIn(requests)
  return lacking <= 0
    ? requests
    : { ...requests, sample_source_progress: requests.sample_source_progress + lacking }
}

/** The average over all surveys with sources; 1 without any. */
export const sourcesOfEach = ({ sources, withSources }: SurveyTotals): number =>
  withSources === 0 ? 1 : sources / withSources

/** The requests of several bundles, by kind. */
export const added = (all: readonly RequestsByKind[]): RequestsByKind =>
  Object.fromEntries(
    REQUEST_KINDS.map((kind) => [kind, sum(all.map((requests) => requests[kind] ?? 0))] as const).filter(
      ([, count]) => count > 0,
    ),
  )

export const requestsIn = (requests: RequestsByKind): number => sum(Object.values(requests))
