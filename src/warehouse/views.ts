/** Every view, in the order in which they are made: one that reads another comes after it. */
import type { ViewDeclaration } from './view-declaration.js'
import { interviewStatusCounts } from './views/interview-status-counts.js'
import { progressDaily } from './views/progress-daily.js'
import { sampleSourceProgressPeriods, surveyProgressPeriods } from './views/progress-periods.js'
import { surveyOverview } from './views/survey-overview.js'
import { surveyStatusChanges } from './views/survey-status-changes.js'
import { sampleSourcePeriods, surveyPeriods } from './views/version-periods.js'

export const ALL_VIEWS: readonly ViewDeclaration[] = [
  surveyOverview,
  interviewStatusCounts,
  surveyStatusChanges,
  surveyProgressPeriods,
  progressDaily,
  sampleSourceProgressPeriods,
  surveyPeriods,
  sampleSourcePeriods,
]
