/** Every view, in the order of creation: a view comes after the views that it reads. */
import { interviewStatusCounts } from './interview-status-counts.js'
import { needsAction } from './needs-action.js'
import { sourceOverview, surveyOverview, surveysToday } from './overviews.js'
import { sampleSourcePace, surveyPace } from './pace.js'
import { progressDaily, sourceProgressDaily } from './progress-daily.js'
import { sampleSourceProgressPeriods, surveyProgressPeriods } from './progress-periods.js'
import { recordChanges, surveyStatusChanges } from './record-changes.js'
import { sampleSourcePeriods, surveyPeriods } from './version-periods.js'
import type { ViewDeclaration } from './view-declaration.js'

export const ALL_VIEWS: readonly ViewDeclaration[] = [
  surveyOverview,
  interviewStatusCounts,
  surveyStatusChanges,
  surveyProgressPeriods,
  progressDaily,
  sampleSourceProgressPeriods,
  sourceProgressDaily,
  surveyPeriods,
  sampleSourcePeriods,
  surveyPace,
  sampleSourcePace,
  sourceOverview,
  recordChanges,
  needsAction,
  surveysToday,
]
