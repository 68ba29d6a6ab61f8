/** The surveys of an account: when each survey changes, and how the API shows it after its changes. */
import { bisector } from 'd3-array'
import { type SurveyResource, transitionStyle } from '../resources.js'
import { formatIsoTime, type Micros, type TimeStyle } from '../time.js'
import { surveyId } from './identities.js'
import { PURPOSES, Random } from './random.js'
import {
  type Change,
  type ChangeCode,
  creationOf,
  deriveTimeline,
  PROJECT_ID_EDIT,
  statusOf,
  surveysAtMost,
  TITLE_EDIT,
  type WorldPlan,
} from './timeline.js'
import { drawTimeStyle, hashidOf, projectIdOf, titleOf } from './vocabulary.js'

/**
 * The changes of all surveys: a memo of `deriveTimeline` that grows on demand, and whose entries never change. A list of numbers takes
 * eight bytes a number; a million lists of objects took 600 MB.
 */
export class ChangeTable {
  readonly #plan: WorldPlan
  /** Survey after survey, each in the order of time, past and future. */
  readonly #moments: Micros[] = []
  readonly #codes: ChangeCode[] = []
  /** The index of the first change of each survey, and at the end the number of all changes. */
  readonly #firsts = [0]

  constructor(plan: WorldPlan) {
    this.#plan = plan
    this.#reach(plan.startAt)
  }

  /** How many surveys were created at or before `at`. They are the first ones by index. */
  countAt(at: Micros): number {
    this.#reach(at)
    const byCreation = bisector((first: number) => this.#momentAt(first))
    return byCreation.right(this.#firsts, at, 0, this.#firsts.length - 1)
  }

  changesOf(index: number): readonly Change[] {
    const first = this.#firstOf(index)
    const moments = this.#moments.slice(first, this.#firstOf(index + 1))
    return moments.map((at, index) => ({ at, code: this.#codes[first + index] ?? 0 }))
  }

  /** Visits the surveys that exist at `at`, newest first, with each one's last change and status. */
  walk(at: Micros, visit: (index: number, changedAt: Micros, status: ChangeCode) => void): void {
    for (let index = this.countAt(at) - 1; index >= 0; index--) {
      const end = this.#firstOf(index + 1)
      let change = this.#firstOf(index)
      let status: ChangeCode = 0
      for (; change < end && this.#momentAt(change) <= at; change++) {
        const code = this.#codes[change] ?? 0
        if (code < TITLE_EDIT) status = code
      }
      visit(index, this.#momentAt(change - 1), status)
    }
  }

  #firstOf(index: number): number {
    return this.#firsts[index] ?? this.#moments.length
  }

  #momentAt(change: number): Micros {
    return this.#moments[change] ?? Number.POSITIVE_INFINITY
  }

  #reach(at: Micros): void {
    const surveys = surveysAtMost(this.#plan, at)
    for (let index = this.#firsts.length - 1; index < surveys; index++) {
      for (const change of deriveTimeline(this.#plan, index)) {
        this.#moments.push(change.at)
        this.#codes.push(change.code)
      }
      this.#firsts.push(this.#moments.length)
    }
  }
}

/**
 * One survey (API document, "Survey"): fixed facts, drawn from its own stream, and the state after its changes in the `past`, the first of
 * them its creation. `updatedAt` is the moment of the last change or of a later touch, and `organizationId` the account's.
 */
export const surveyResource = (
  plan: WorldPlan,
  index: number,
  past: readonly Change[],
  updatedAt: Micros,
  organizationId: number,
): SurveyResource => {
  const random = new Random(plan, index, PURPOSES.facts)
  const { grain } = creationOf(plan, index)
  const questions = 3 + random.below(80)
  const hashid = hashidOf(random)
  const createdStyle = drawTimeStyle(random, grain)
  const updatedStyle = random.chance(0.8) ? createdStyle : drawTimeStyle(random, grain)
  const style = random.pick(transitionStyle.options)
  const iterations = questions + random.below(120)
  const edits = (wanted: ChangeCode): number => past.filter(({ code }) => code === wanted).length
  return {
    id: surveyId(plan, index),
    title: titleOf(random, edits(TITLE_EDIT), plan.titles),
    created_at: formatIsoTime(past.at(0)?.at ?? 0, createdStyle),
    updated_at: formatIsoTime(updatedAt, exactly(updatedAt, updatedStyle)),
    hashid,
    project_id: projectIdAfter(plan, index, edits(PROJECT_ID_EDIT)),
    status: past.flatMap(({ code }) => statusOf(code) ?? []).at(-1) ?? 'draft',
    owner_organization_id: organizationId,
    transition_style: style,
    respondent_questions_count: questions,
    respondent_iterations_count: iterations,
  }
}

/**
 * A touch by a source may be finer than the moments of the survey. It is shown with all its digits, because `updated_since` would miss a
 * moment that is cut off.
 */
const exactly = (at: Micros, style: TimeStyle): TimeStyle =>
  at % 10 ** (6 - style.fractionDigits) === 0 ? style : { ...style, fractionDigits: 6 }

/** Each edit gives a value that differs from the previous value. */
const projectIdAfter = (plan: WorldPlan, index: number, edits: number): string | null => {
  let projectId: string | null | undefined
  for (let edit = 0; edit <= edits; edit++) {
    projectId = projectIdOf(new Random(plan, index, PURPOSES.edits, edit), projectId)
  }
  return projectId ?? null
}
