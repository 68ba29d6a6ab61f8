/**
 * The moments at which surveys are created, in closed form: the n-th moment needs no other survey, and moments grow with
 * n. So the order of the list (created_at descending, then id descending) is n descending, without a sort, and its last
 * page costs as much as its first.
 */
import { MICROS_PER_DAY, type Micros } from '../time/iso-time.js'
import { PURPOSES, Random, type WorldKey } from './random.js'
import { drawGrain, floorTo, type Grain } from './time-styles.js'

/** Everything that determines the world of one account. Equal plans give equal worlds. */
export interface WorldPlan extends WorldKey {
  /** Surveys that exist at `startAt`. */
  readonly surveys: number
  readonly startAt: Micros
}

export interface Creation {
  readonly at: Micros
  readonly grain: Grain
}

const HISTORY_DAYS_MIN = 20
const HISTORY_DAYS_MAX = 3 * 365
/** Small worlds are young. With a few surveys over years, none would be in the field. */
const HISTORY_DAYS_PER_SURVEY = 6
/** New surveys in 30 days, after `startAt`, for each that existed then; but at least a few. */
const NEW_PER_SURVEY_AND_MONTH = 0.04
const NEW_PER_MONTH_MIN = 2
/** How likely two surveys are created at the same moment. */
const TWIN_PROBABILITY = 0.08

/** When survey `index` is created. It never falls with `index`, and is before the start below `plan.surveys`. */
export const creationOf = (plan: WorldPlan, index: number): Creation => {
  const origin = isTwin(plan, index) ? index - 1 : index
  const random = creationStream(plan, origin)
  random.fraction()
  const grain = drawGrain(random)
  const jitter = 0.05 + 0.9 * random.fraction()
  return { at: floorTo(grain, momentOf(plan, origin, jitter)), grain }
}

/** An upper bound of the surveys that exist at `at`, for tables of them. */
export const surveysAtMost = (plan: WorldPlan, at: Micros): number => {
  if (plan.surveys === 0) return 0
  return plan.surveys + Math.max(0, Math.ceil((at - plan.startAt) / gapOf(plan))) + 2
}

const momentOf = (plan: WorldPlan, index: number, jitter: number): Micros => {
  if (index >= plan.surveys) return plan.startAt + (index - plan.surveys + jitter) * gapOf(plan)
  const days = Math.min(HISTORY_DAYS_MAX, Math.max(HISTORY_DAYS_MIN, plan.surveys * HISTORY_DAYS_PER_SURVEY))
  const place = (plan.surveys - 1 - index + jitter) / plan.surveys
  // Denser towards the start. The linear part keeps neighbours further apart than a grain, also among a million.
  return plan.startAt - days * MICROS_PER_DAY * (0.4 * place + 0.6 * place * place)
}

const gapOf = (plan: WorldPlan): Micros =>
  (30 * MICROS_PER_DAY) / Math.max(NEW_PER_MONTH_MIN, plan.surveys * NEW_PER_SURVEY_AND_MONTH)

/** Only odd places may be twins of the place before, so twins never chain. The first one after the start is none. */
const isTwin = (plan: WorldPlan, index: number): boolean =>
  index % 2 === 1 && index !== plan.surveys && creationStream(plan, index).chance(TWIN_PROBABILITY)

const creationStream = (plan: WorldPlan, survey: number): Random =>
  new Random(plan, survey, PURPOSES.creation)
