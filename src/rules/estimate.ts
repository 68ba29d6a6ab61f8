/**
 * How many requests the bundle of a survey takes: the only estimate, by the rules that later skip requests. Only whether the progress of
 * the survey changes is a guess.
 */
import { sum } from 'd3-array'
import type { Instant } from '../model/instant.js'
import type { PlannedSurvey, SurveyTotals } from '../model/plan-facts.js'
import { REQUEST_KINDS, type RequestsByKind } from '../model/request-usage.js'
import type { RefreshRules, TaskReason } from '../model/run.js'
import { ageMs } from './believed.js'
import { isActive, listsSources, rulesFor } from './refresh.js'
import { dayRequests } from './windows.js'

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
  { rules, sourcesEach }: EstimateRules,
  readsAll = false,
): RequestsByKind => {
  if (reason === 'sources' && !readsAll) return { sample_sources: 1 }
  const sources = survey.refreshedAt === null ? Math.round(sourcesEach) : survey.sources
  const isRead =
    readsAll ||
    survey.refreshedAt === null ||
    reason === 'missing' ||
    !rules.skip_unchanged ||
    (ageMs(survey.sourceProgressReadAt, at) >= rulesFor(reason, rules).recheck_unchanged_after &&
      !survey.isWithoutInterviews)
  const readsSources = isRead || isExpectedToMove(survey)
  const isExplained = !isRead && rules.daily_windows === null
  const requests = {
    sample_sources:
      readsAll || listsSources(survey, { reason, isTouched: survey.isTouched }, at, rules) ? 1 : 0,
    survey_progress: 1,
    sample_source_progress: readsSources ? (isExplained ? explainingOf(survey) : sources) : 0,
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

/** An active survey with interviews is expected to change again if it did at its last refresh, or if it was read only once. */
const isExpectedToMove = ({ moved, status, isWithoutInterviews }: PlannedSurvey): boolean =>
  isActive(status) && !isWithoutInterviews && moved !== false

/**
 * Of the sources, half of those that did not move with the last change are read before the sum is explained. An odd source is expected in
 * every second survey, so that the sum over surveys is right. Nobody knows which sources move in a survey that was read once: seven tenths
 * fit the second nights of `npm run bench:requests` and of test/e2e/plan.test.ts.
 */
const explainingOf = ({ id, sources, moved, movedSources }: PlannedSurvey): number => {
  const movers = moved === null ? Math.round(0.7 * sources) : movedSources
  return Math.floor((sources + movers + (Math.abs(id) % 2)) / 2)
}

/** The average over all surveys with sources; 1 without any. */
export const sourcesOfEach = ({ sources, withSources }: SurveyTotals): number =>
  withSources === 0 ? 1 : sources / withSources

/** The requests of several bundles, by kind. */
export const added = (all: readonly RequestsByKind[]): RequestsByKind =>
  Object.fromEntries(
    REQUEST_KINDS.map((kind) => [kind, sum(all.map((one) => one[kind] ?? 0))] as const).filter(
      ([, count]) => count > 0,
    ),
  )

export const requestsIn = (requests: RequestsByKind): number => sum(Object.values(requests))
