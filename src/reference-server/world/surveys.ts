/** The surveys of an account: when each of them changes, and how the API shows one after its changes. */
import { SURVEY_STATUSES, type SurveyResource, type SurveyStatus, TRANSITION_STYLES } from '../resources.js'
import { formatIsoTime, type Micros } from '../time.js'
import { surveyId } from './identities.js'
import { PURPOSES, Random } from './random.js'
import {
  type Change,
  type ChangeCode,
  creationOf,
  deriveTimeline,
  PROJECT_ID_EDIT,
  surveysAtMost,
  TITLE_EDIT,
  type WorldPlan,
} from './timeline.js'
import { drawTimeStyle, hashidOf, projectIdOf, titleOf } from './vocabulary.js'

/** The state of a survey after its changes up to some time. */
interface SurveyState {
  readonly createdAt: Micros
  readonly updatedAt: Micros
  readonly status: SurveyStatus
  /** How often the title and the project_id were edited. */
  readonly titleEdits: number
  readonly projectIdEdits: number
}

/**
 * The changes of all surveys in three flat arrays (9 bytes a change). A filter on `updated_since` reads every survey, and a
 * hundred thousand lists of objects would be slow and large. The table is a memo of `deriveTimeline`: it grows on demand
 * and never changes what it holds.
 */
export class ChangeTable {
  readonly #plan: WorldPlan
  #times = new Float64Array(1024)
  #codes = new Uint8Array(1024)
  /** The place of each survey's first change; one more entry than there are surveys. */
  #offsets = new Uint32Array(256)
  #surveys = 0

  constructor(plan: WorldPlan) {
    this.#plan = plan
    this.#reach(surveysAtMost(plan, plan.startAt))
  }

  /** How many surveys were created at or before `at`. They are the first ones by index. */
  countAt(at: Micros): number {
    this.#reach(surveysAtMost(this.#plan, at))
    let low = 0
    let high = this.#surveys
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#time(this.#offset(middle)) <= at) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The state of survey `index`, which exists at `at`. */
  stateAt(index: number, at: Micros): SurveyState {
    const first = this.#offset(index)
    const end = this.#offset(index + 1)
    let status: ChangeCode = 0
    let titleEdits = 0
    let projectIdEdits = 0
    let place = first
    for (; place < end && this.#time(place) <= at; place++) {
      const code = this.#codes[place] ?? 0
      if (code === TITLE_EDIT) titleEdits++
      else if (code === PROJECT_ID_EDIT) projectIdEdits++
      else status = code
    }
    return {
      createdAt: this.#time(first),
      updatedAt: this.#time(Math.max(first, place - 1)),
      status: SURVEY_STATUSES[status] ?? 'draft',
      titleEdits,
      projectIdEdits,
    }
  }

  /** All changes of survey `index`, past and future. */
  changesOf(index: number): Change[] {
    const changes: Change[] = []
    for (let place = this.#offset(index); place < this.#offset(index + 1); place++) {
      changes.push({ at: this.#time(place), code: this.#codes[place] ?? 0 })
    }
    return changes
  }

  /**
   * Visits the surveys that exist at `at`, newest first, with each one's last change and status. Returns the moment of
   * the next change of any survey; until then a second walk would visit the same.
   */
  walk(at: Micros, visit: (index: number, updatedAt: Micros, status: ChangeCode) => void): Micros {
    const count = this.countAt(at)
    let next = count < this.#surveys ? this.#time(this.#offset(count)) : Number.POSITIVE_INFINITY
    for (let index = count - 1; index >= 0; index--) {
      const end = this.#offset(index + 1)
      let place = this.#offset(index)
      let status: ChangeCode = 0
      let updatedAt = 0
      for (; place < end; place++) {
        const time = this.#time(place)
        if (time > at) {
          if (time < next) next = time
          break
        }
        const code = this.#codes[place] ?? 0
        if (code < TITLE_EDIT) status = code
        updatedAt = time
      }
      visit(index, updatedAt, status)
    }
    return next
  }

  #time(place: number): Micros {
    return this.#times[place] ?? Number.POSITIVE_INFINITY
  }

  #offset(index: number): number {
    return this.#offsets[index] ?? 0
  }

  #reach(surveys: number): void {
    for (; this.#surveys < surveys; this.#surveys++) this.#append(deriveTimeline(this.#plan, this.#surveys))
  }

  #append(changes: readonly Change[]): void {
    let place = this.#offset(this.#surveys)
    if (place + changes.length > this.#times.length) {
      const [times, codes] = [this.#times, this.#codes]
      this.#times = new Float64Array(times.length * 2)
      this.#times.set(times)
      this.#codes = new Uint8Array(codes.length * 2)
      this.#codes.set(codes)
    }
    if (this.#surveys + 1 >= this.#offsets.length) {
      const offsets = this.#offsets
      this.#offsets = new Uint32Array(offsets.length * 2)
      this.#offsets.set(offsets)
    }
    for (const { at, code } of changes) {
      this.#times[place] = at
      this.#codes[place] = code
      place++
    }
    this.#offsets[this.#surveys + 1] = place
  }
}

/**
 * One survey (API document, "Survey"): fixed facts, drawn from its own stream, and the state after its changes.
 * `organizationId` is the account's.
 */
export const surveyResource = (
  plan: WorldPlan,
  index: number,
  state: SurveyState,
  organizationId: number,
): SurveyResource => {
  const random = new Random(plan, index, PURPOSES.facts)
  const { grain } = creationOf(plan, index)
  const questions = 3 + random.below(80)
  const hashid = hashidOf(random)
  const createdStyle = drawTimeStyle(random, grain)
  const updatedStyle = random.chance(0.8) ? createdStyle : drawTimeStyle(random, grain)
  const style = random.pick(TRANSITION_STYLES)
  const iterations = questions + random.below(120)
  return {
    id: surveyId(plan, index),
    title: titleOf(random, state.titleEdits),
    created_at: formatIsoTime(state.createdAt, createdStyle),
    updated_at: formatIsoTime(state.updatedAt, updatedStyle),
    hashid,
    project_id: projectIdAfter(plan, index, state.projectIdEdits),
    status: state.status,
    owner_organization_id: organizationId,
    transition_style: style,
    respondent_questions_count: questions,
    respondent_iterations_count: iterations,
  }
}

/** Each edit gives a value that differs from the one before. */
const projectIdAfter = (plan: WorldPlan, index: number, edits: number): string | null => {
  let projectId: string | null | undefined
  for (let edit = 0; edit <= edits; edit++) {
    projectId = projectIdOf(new Random(plan, index, PURPOSES.edits, edit), projectId)
  }
  return projectId ?? null
}
