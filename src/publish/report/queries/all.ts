/** Every query, in the order in which the documentation lists them. */
import * as overview from './overview.js'
import type { Query } from './query.js'
import * as run from './run.js'
import * as survey from './survey.js'

export const ALL_QUERIES: readonly Query[] = [
  overview.asOf,
  overview.totals,
  overview.paused,
  overview.standsStill,
  overview.far,
  overview.slips,
  overview.sourcesBehind,
  overview.ratesMoved,
  overview.stale,
  overview.inField,
  overview.besideField,
  overview.timeline,
  overview.changeCounts,
  overview.changes,
  survey.surveys,
  survey.observations,
  survey.interviews,
  survey.sources,
  survey.history,
  run.runs,
  run.requests,
  run.queue,
  run.problems,
]
