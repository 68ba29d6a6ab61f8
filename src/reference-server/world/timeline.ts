/**
 * The timeline of one survey: every moment at which one of its own fields changes, past and future; the API shows the part up to now.
 *
 * The n-th moment of creation needs no other survey, and moments grow with n. So the order of the list (created_at descending, then id
 * descending) is n descending, without a sort, and its last page costs as much as its first.
 */
import type { SourceChanges, Titles, Touch } from '../option-texts.js'
import { SURVEY_STATUSES, type SurveyStatus } from '../resources.js'
import { MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MS, MICROS_PER_SECOND, type Micros } from '../time.js'
import { PURPOSES, Random, type WorldKey } from './random.js'

/** Everything that determines the world of one account. Equal plans give equal worlds. */
export interface WorldPlan extends WorldKey {
  /** Surveys that exist at `startAt`. */
  readonly surveys: number
  readonly startAt: Micros
  /** Whether sources of a draft, demo or complete survey change only together with the survey, which is the default. */
  readonly sourceChanges?: SourceChanges
  /** What moves a survey's `updated_at` beside its own fields; by default nothing. */
  readonly touch?: Touch
  /** By default there are none. */
  readonly lateCorrections?: LateCorrections
  /** Percent of sources of which many interviews are rejected for quality. By default there are none. */
  readonly badSources?: number
  /** By default `odd`. They change no other fact of the world. */
  readonly titles?: Titles
}

interface LateCorrections {
  /** The part of complete surveys that are corrected, 0 to 1. */
  readonly share: number
  /** The longest delay, days after the survey was complete. */
  readonly days: number
}

/** The resolution of a record's moments, microseconds. Moments are whole multiples of the grain, so that no moment is shown cut off. */
export type Grain = 1 | typeof MICROS_PER_MS | typeof MICROS_PER_SECOND

export const drawGrain = (random: Random): Grain => {
  const draw = random.fraction()
  if (draw < 0.65) return MICROS_PER_SECOND
  return draw < 0.8 ? MICROS_PER_MS : 1
}

/** The last moment of this grain at or before `at`. */
export const floorTo = (grain: Grain, at: Micros): Micros => Math.floor(at / grain) * grain

/** The kind of a change. Below `TITLE_EDIT` it is the index of the new status in `SURVEY_STATUSES`. */
export type ChangeCode = number

export const TITLE_EDIT: ChangeCode = SURVEY_STATUSES.length
export const PROJECT_ID_EDIT: ChangeCode = SURVEY_STATUSES.length + 1

export interface Change {
  readonly at: Micros
  readonly code: ChangeCode
}

/** The new status; null when the change is of another field. */
export const statusOf = (code: ChangeCode): SurveyStatus | null => SURVEY_STATUSES[code] ?? null

const HISTORY_DAYS_MIN = 20
const HISTORY_DAYS_MAX = 3 * 365
/** Small worlds are young: if a few surveys were spread over years, none would be in the field. */
const HISTORY_DAYS_PER_SURVEY = 6
/** New surveys in 30 days after `startAt`, for each survey that existed at `startAt`; but at least a few. */
const NEW_PER_SURVEY_AND_MONTH = 0.04
const NEW_PER_MONTH_MIN = 2
/** How likely two surveys are created at the same moment. */
const TWIN_PROBABILITY = 0.08

/** When survey `index` is created. It never falls with `index`, and is before the start below `plan.surveys`. */
export const creationOf = (plan: WorldPlan, index: number): { at: Micros; grain: Grain } => {
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
  const age = (plan.surveys - 1 - index + jitter) / plan.surveys
  // Denser towards the start. The linear part keeps neighbours further apart than a grain, also among a million.
  return plan.startAt - days * MICROS_PER_DAY * (0.4 * age + 0.6 * age * age)
}

const gapOf = (plan: WorldPlan): Micros =>
  (30 * MICROS_PER_DAY) / Math.max(NEW_PER_MONTH_MIN, plan.surveys * NEW_PER_SURVEY_AND_MONTH)

/**
 * Only a survey with an odd index may be a twin of the survey before, so twins never chain. The first survey after the start is no twin.
 */
const isTwin = (plan: WorldPlan, index: number): boolean =>
  index % 2 === 1 && index !== plan.surveys && creationStream(plan, index).chance(TWIN_PROBABILITY)

const creationStream = (plan: WorldPlan, survey: number): Random =>
  new Random(plan, survey, PURPOSES.creation)

/** All changes of survey `index`, in the order of time; the first is its creation. */
export const deriveTimeline = (plan: WorldPlan, index: number): Change[] => {
  const { at: createdAt, grain } = creationOf(plan, index)
  const random = new Random(plan, index, PURPOSES.timeline)
  const drawn = [...drawStatuses(random, createdAt), ...drawEdits(random, createdAt)]
  const [created, ...later] = drawn.map(({ at, code }) => ({ at: floorTo(grain, at), code }))
  if (created === undefined) return []
  return [created, ...later.sort((a, b) => a.at - b.at)]
}

/** Cumulative probabilities of the timelines that are not normal. */
const FATES = { demo: 0.03, demoLater: 0.05, draftForEver: 0.1 }

const drawStatuses = (random: Random, createdAt: Micros): Change[] => {
  const fate = random.fraction()
  if (fate < FATES.demo) return [to('user_demo', createdAt)]
  const draft = to('draft', createdAt)
  if (fate < FATES.demoLater) return [draft, to('user_demo', createdAt + days(random, 0.1, 5))]
  if (fate < FATES.draftForEver) return [draft]
  const pendingAt = createdAt + days(random, 0.2, 8)
  const launch = [draft, to('pending', pendingAt)]
  const fieldwork = drawFieldwork(random, pendingAt + days(random, 0.1, 3))
  return [...launch, ...fieldwork, ...drawReopening(random, fieldwork.at(-1)?.at ?? 0)]
}

/** Fieldwork with its pauses, then data processing, then complete. */
const drawFieldwork = (random: Random, from: Micros): Change[] => {
  const changes = [to('fieldwork', from)]
  const length = random.chance(0.1) ? days(random, 60, 150) : days(random, 3, 30)
  const pauses = random.weighted([0.5, 0.3, 0.15, 0.05])
  let at = from
  for (let pause = 0; pause < pauses; pause++) {
    at += (length / (pauses + 1)) * random.between(0.5, 1)
    changes.push(to('deviating_from_specs', at))
    at += days(random, 0.05, 2)
    changes.push(to('fieldwork', at))
  }
  at += (length / (pauses + 1)) * random.between(0.5, 1)
  changes.push(to('data_processing', at))
  changes.push(to('complete', at + days(random, 0.2, 5)))
  return changes
}

/** Some complete surveys are reopened: processed again, or even in fieldwork again. */
const drawReopening = (random: Random, completeAt: Micros): Change[] => {
  const draw = random.fraction()
  const at = completeAt + days(random, 1, 250)
  if (draw < 0.04) return drawFieldwork(random, at)
  if (draw < 0.14) return [to('data_processing', at), to('complete', at + days(random, 0.05, 3))]
  return []
}

const drawEdits = (random: Random, createdAt: Micros): Change[] => {
  const edits = (code: ChangeCode, weights: readonly number[]): Change[] =>
    Array.from({ length: random.weighted(weights) }, () => ({ at: createdAt + editDelay(random), code }))
  return [...edits(TITLE_EDIT, [0.5, 0.3, 0.15, 0.05]), ...edits(PROJECT_ID_EDIT, [0.6, 0.3, 0.1])]
}

/** Most edits come soon, some after more than a year. */
const editDelay = (random: Random): Micros =>
  60 * MICROS_PER_SECOND + 24 * MICROS_PER_HOUR * 500 * random.fraction() ** 4

const days = (random: Random, low: number, high: number): Micros => random.between(low, high) * MICROS_PER_DAY

const to = (status: SurveyStatus, at: Micros): Change => ({ at, code: SURVEY_STATUSES.indexOf(status) })
