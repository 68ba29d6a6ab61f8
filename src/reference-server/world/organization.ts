/**
 * The world of one account at any time. Answers are a pure function of the plan and the time; the only state is the surveys that faults
 * have removed. Everything else in memory is a memo.
 */
import type { EmptyRates, Touch } from '../option-texts.js'
import {
  type ProgressResource,
  type SampleSourceResource,
  SURVEY_STATUSES,
  type SurveyResource,
  type SurveyStatus,
} from '../resources.js'
import { MICROS_PER_SECOND, type Micros } from '../time.js'
import { type AccountIdentity, accountIdentity, surveyId, surveyIndexOf } from './identities.js'
import { type ProgressFilter, progressOf } from './indicators.js'
import { deriveField, type FieldSource, IGNORED, INCOMPLETE, type Interviews } from './interviews.js'
import { QUIET_STATUSES, SOURCES_SETTLE_WITHIN, shownAt } from './sample-sources.js'
import { ChangeTable, surveyResource } from './surveys.js'
import { type Change, creationOf, statusOf, surveysAtMost, type WorldPlan } from './timeline.js'

/** Filters of the survey list (API document, "List surveys"). */
export interface SurveyFilter {
  /** Keeps surveys with one of these statuses; all surveys if there is none. */
  readonly statuses?: readonly SurveyStatus[]
  /** Keeps surveys modified at or after this moment. */
  readonly updatedSince?: Micros | undefined
}

/** Some records of a list, and how many the list has. */
export interface Slice<Row> {
  readonly rows: readonly Row[]
  readonly total: number
}

const SURVEY_FIELDS_MAX = 256

export class Organization {
  readonly identity: AccountIdentity
  readonly #plan: WorldPlan
  readonly #emptyRates: EmptyRates
  readonly #changes: ChangeTable
  /** Indexes of surveys that a fault made vanish. */
  readonly #forgotten = new Set<number>()
  readonly #fields = new Map<number, readonly FieldSource[]>()

  constructor(plan: WorldPlan, emptyRates: EmptyRates = 'null') {
    this.#plan = plan
    this.#emptyRates = emptyRates
    this.identity = accountIdentity(plan.seed, plan.account)
    this.#changes = new ChangeTable(plan)
  }

  /** At most `count` surveys of the list at `at`, from `first` on: created_at descending, then id descending. */
  listSurveys(at: Micros, filter: SurveyFilter, first: number, count: number): Slice<SurveyResource> {
    const { statuses = [], updatedSince } = filter
    if (statuses.length === 0 && updatedSince === undefined && this.#forgotten.size === 0) {
      // Any page of a large list costs the same.
      const existing = this.#changes.countAt(at)
      const length = Math.max(0, Math.min(count, existing - first))
      const rows = Array.from({ length }, (_, row) => this.survey(at, existing - 1 - first - row))
      return { rows, total: existing }
    }
    const indexes = this.surveyIndexes(at, filter)
    const rows = indexes.slice(first, first + count).map((index) => this.survey(at, index))
    return { rows, total: indexes.length }
  }

  /** The surveys that exist at `at`, in the order of the list. */
  surveyIndexes(at: Micros, { statuses = [], updatedSince = 0 }: SurveyFilter = {}): number[] {
    const wanted = SURVEY_STATUSES.map((status) => statuses.length === 0 || statuses.includes(status))
    const indexes: number[] = []
    this.#changes.walk(at, (index, changedAt, status) => {
      if (!wanted[status] || this.#forgotten.has(index)) return
      if (changedAt >= updatedSince || this.#isTouched(at, index, updatedSince)) indexes.push(index)
    })
    return indexes
  }

  /** The index of the survey with this id; null if the account has no such survey at `at`. */
  findSurvey(at: Micros, id: number): number | null {
    const index = surveyIndexOf(this.#plan, id)
    if (index === null || index >= this.#changes.countAt(at)) return null
    return this.#forgotten.has(index) ? null : index
  }

  /** Whether the survey with this id is created at or before `until`. */
  createsSurvey(id: number, until: Micros): boolean {
    const index = surveyIndexOf(this.#plan, id)
    return (
      index !== null && index < surveysAtMost(this.#plan, until) && creationOf(this.#plan, index).at <= until
    )
  }

  /** Hides the survey with this id, if the account has it, from now on. */
  forgetSurvey(id: number): void {
    const index = surveyIndexOf(this.#plan, id)
    if (index !== null) this.#forgotten.add(index)
  }

  rememberSurveys(): void {
    this.#forgotten.clear()
  }

  survey(at: Micros, index: number): SurveyResource {
    const past = this.changesOf(index).filter((change) => change.at <= at)
    return surveyResource(this.#plan, index, past, this.updatedAt(at, index), this.identity.organizationId)
  }

  /** When survey `index` was modified last at or before `at`: its last own change, or a later touch. */
  updatedAt(at: Micros, index: number): Micros {
    const past = this.changesOf(index).filter((change) => change.at <= at)
    const changedAt = past.at(-1)?.at ?? 0
    const { touch = 'none' } = this.#plan
    if (touch === 'none') return changedAt
    return Math.max(changedAt, lastTouch(touch, past, this.field(index), at))
  }

  #isTouched(at: Micros, index: number, since: Micros): boolean {
    if ((this.#plan.touch ?? 'none') === 'none') return false
    // Most surveys of a large world stopped changing long ago. Deriving their sources would take seconds for nothing.
    const settledAt = (this.changesOf(index).at(-1)?.at ?? 0) + SOURCES_SETTLE_WITHIN
    return settledAt >= since && this.updatedAt(at, index) >= since
  }

  surveyId(index: number): number {
    return surveyId(this.#plan, index)
  }

  /** The sources of survey `index` at `at`: created_at descending, then id descending. */
  listSampleSources(at: Micros, index: number): SampleSourceResource[] {
    return this.#sources(at, index)
      .map(({ shown }) => shown)
      .reverse()
  }

  /**
   * The indicators of survey `index` at `at`, or of one of its sources; null when it has no such source then.
   * The target of a survey is the sum of its sources' targets.
   */
  progress(at: Micros, index: number, filter: ProgressFilter = {}): ProgressResource | null {
    const { sample_source_id: wanted } = filter
    const sources = this.#sources(at, index).filter(({ source: { id } }) => id === (wanted ?? id))
    if (wanted !== undefined && sources.length === 0) return null
    const interviews = sources.map(({ source }) => source.interviews())
    const sampleSize = sources.reduce((sum, { shown }) => sum + shown.sample_size, 0)
    return progressOf(interviews, sampleSize, at, filter, this.#emptyRates)
  }

  /** The sources that survey `index` has at `at`, oldest first, each as it is shown then. */
  #sources(at: Micros, index: number) {
    return this.field(index).flatMap((source) => {
      const shown = shownAt(source, at)
      return shown === null ? [] : [{ source, shown }]
    })
  }

  changesOf(index: number): readonly Change[] {
    return this.#changes.changesOf(index)
  }

  /** All sources that survey `index` ever has, oldest first. */
  field(index: number): readonly FieldSource[] {
    const field = this.#fields.get(index) ?? deriveField(this.#plan, index, this.changesOf(index))
    this.#fields.set(index, field)
    const [oldest = index] = this.#fields.keys()
    if (this.#fields.size > SURVEY_FIELDS_MAX) this.#fields.delete(oldest)
    return field
  }
}

// What moves a survey's `updated_at` beside its own fields, by the option `touch`: interviews, or changes of its sources.

/**
 * The last touch at or before `at`; -Infinity if there is none. `past` are the survey's own changes up to `at`. Late corrections do not
 * touch the survey.
 */
const lastTouch = (
  touch: Touch,
  past: readonly Change[],
  field: readonly FieldSource[],
  at: Micros,
): Micros => {
  let last = Number.NEGATIVE_INFINITY
  const status = past.findLast(({ code }) => statusOf(code) !== null)?.code
  // No interview moves after the survey is complete, and before that none has begun. Deriving interviews takes most of the time.
  const isOpen = status !== undefined && ACTIVE_CODES.has(status)
  for (const { versions, removedAt, interviews } of field) {
    if (touch !== 'interviews')
      for (const moment of [removedAt, ...versions.map((version) => version.at)])
        if (moment !== null && moment <= at) last = Math.max(last, moment)
    if (touch !== 'sources' && isOpen)
      last = Math.max(last, lastMove(interviews(), Math.min(at, removedAt ?? at)))
  }
  return last
}

const ACTIVE_CODES: ReadonlySet<number> = new Set(
  SURVEY_STATUSES.flatMap((status, code) => (QUIET_STATUSES.includes(status) ? [] : [code])),
)

/** When an interview last began or changed its status, at or before `at`. */
const lastMove = (interviews: Interviews, at: Micros): Micros => {
  const { starts, durations, analysisMinutes, statuses } = interviews
  let last = Number.NEGATIVE_INFINITY
  for (let interview = 0; interview < starts.length; interview++) {
    const start = starts[interview] ?? 0
    if (start > at) break
    const status = statuses[interview] ?? IGNORED
    if (status === IGNORED) continue
    if (start > last) last = start
    if (status === INCOMPLETE) continue
    const end = start + (durations[interview] ?? 0) * MICROS_PER_SECOND
    if (end <= at && end > last) last = end
    const decided = end + 60 * (analysisMinutes[interview] ?? 0) * MICROS_PER_SECOND
    if (decided <= at && decided > last) last = decided
  }
  return last
}
