/**
 * The timeline of one survey: every moment at which one of its own fields changes, from its creation on. It is drawn as
 * a whole, with its future; the API shows the part up to now.
 */
import { SURVEY_STATUSES, type SurveyStatus } from '../resources/enumerations.js'
import { MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_SECOND, type Micros } from '../time/iso-time.js'
import { creationOf, type WorldPlan } from './creation.js'
import { PURPOSES, Random } from './random.js'
import { floorTo } from './time-styles.js'

/** The kind of a change. Below `TITLE_EDIT` it is the place of the new status in `SURVEY_STATUSES`. */
export type ChangeCode = number

export const TITLE_EDIT: ChangeCode = SURVEY_STATUSES.length
export const PROJECT_ID_EDIT: ChangeCode = SURVEY_STATUSES.length + 1

export interface Change {
  readonly at: Micros
  readonly code: ChangeCode
}

/** The new status; null when the change is of another field. */
export const statusOf = (code: ChangeCode): SurveyStatus | null => SURVEY_STATUSES[code] ?? null

/** All changes of survey `index`, in the order of time; the first is its creation. */
export const deriveTimeline = (plan: WorldPlan, index: number): Change[] => {
  const { at: createdAt, grain } = creationOf(plan, index)
  const random = new Random(plan, index, PURPOSES.timeline)
  const drawn = [...drawStatuses(random, createdAt), ...drawEdits(random, createdAt)]
  const [created, ...later] = drawn.map(({ at, code }) => ({ at: floorTo(grain, at), code }))
  if (created === undefined) return []
  return [created, ...later.sort((one, other) => one.at - other.at)]
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
  return [...launch, ...fieldwork, ...drawReopening(random, endOf(fieldwork))]
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

const endOf = (changes: readonly Change[]): Micros => changes.at(-1)?.at ?? 0
