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
  readonly titleEdits: number
  readonly projectIdEdits: number
}

/** The changes of all surveys: a memo of `deriveTimeline` that grows on demand and never changes what it holds. */
export class ChangeTable {
  readonly #plan: WorldPlan
  /** By survey, each in the order of time, past and future. */
  readonly #changes: (readonly Change[])[] = []

  constructor(plan: WorldPlan) {
    this.#plan = plan
    this.#reach(plan.startAt)
  }

  /** How many surveys were created at or before `at`. They are the first ones by index. */
  countAt(at: Micros): number {
    this.#reach(at)
    let low = 0
    let high = this.#changes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#createdAt(middle) <= at) low = middle + 1
      else high = middle
    }
    return low
  }

  changesOf(index: number): readonly Change[] {
    return this.#changes[index] ?? []
  }

  /** The state of survey `index`, which exists at `at`. */
  stateAt(index: number, at: Micros): SurveyState {
    const past = this.changesOf(index).filter((change) => change.at <= at)
    const times = (wanted: ChangeCode) => past.filter(({ code }) => code === wanted).length
    const status = past.findLast(({ code }) => code < TITLE_EDIT)?.code ?? 0
    return {
      createdAt: this.#createdAt(index),
      updatedAt: past.at(-1)?.at ?? 0,
      status: SURVEY_STATUSES[status] ?? 'draft',
      titleEdits: times(TITLE_EDIT),
      projectIdEdits: times(PROJECT_ID_EDIT),
    }
  }

  /**
   * Visits the surveys that exist at `at`, newest first, with each one's last change and status. Returns the moment of
   * the next change of any survey; until then a second walk would visit the same.
   */
  walk(at: Micros, visit: (index: number, updatedAt: Micros, status: ChangeCode) => void): Micros {
    const count = this.countAt(at)
    let next = this.#createdAt(count)
    for (let index = count - 1; index >= 0; index--) {
      let status: ChangeCode = 0
      let updatedAt = 0
      for (const change of this.changesOf(index)) {
        if (change.at > at) {
          next = Math.min(next, change.at)
          break
        }
        if (change.code < TITLE_EDIT) status = change.code
        updatedAt = change.at
      }
      visit(index, updatedAt, status)
    }
    return next
  }

  #createdAt(index: number): Micros {
    return this.#changes[index]?.[0]?.at ?? Number.POSITIVE_INFINITY
  }

  #reach(at: Micros): void {
    const surveys = surveysAtMost(this.#plan, at)
    for (let index = this.#changes.length; index < surveys; index++) {
      this.#changes.push(deriveTimeline(this.#plan, index))
    }
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
