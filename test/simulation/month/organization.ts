/**
 * The organization of the simulated month: the newest thousand surveys with four sources each of a large world of the reference
 * server, and those that are created later. 150 are active at a time, of every age. Everything else is as in any such world.
 */
import type { SurveyResource, SurveyStatus } from '../../../src/reference-server/resources.js'
import { MICROS_PER_DAY, MICROS_PER_SECOND, type Micros } from '../../../src/reference-server/time.js'
import type { FieldSource } from '../../../src/reference-server/world/interviews.js'
import {
  Organization,
  type Slice,
  type SurveyFilter,
} from '../../../src/reference-server/world/organization.js'

/** Records per page of any list (API document, "Pagination object"). */
export const PAGE_SIZE = 50
const SURVEYS = 1_000
const SOURCES = 4

/** Found by trial: at any time of the month, about 150 active surveys are among those of the organization. */
const SURVEYS_OF_THE_WORLD = 45_000
/** A world creates surveys at an even pace only after it has begun. */
const BEGUN_BEFORE = 150 * MICROS_PER_DAY

/** Worlds of the reference server, by the name of what is different in them. */
export const WORLDS = {
  default: {},
  free: { sourceChanges: 'free' },
  touch: { touch: 'both' },
  late: { lateCorrections: { share: 0.25, days: 90 } },
} as const

export class MonthOrganization extends Organization {
  readonly #isMember = new Map<number, boolean>()
  readonly #fields = new Map<number, readonly FieldSource[]>()
  readonly #interviewTimes = new Map<number, { readonly first: Micros; readonly last: Micros }>()
  readonly #oldest: number

  /** At `startAt` it has `SURVEYS` surveys. */
  constructor(seed: number, startAt: Micros, world: keyof typeof WORLDS) {
    const choices = WORLDS[world]
    super({ seed, account: 0, surveys: SURVEYS_OF_THE_WORLD, startAt: startAt - BEGUN_BEFORE, ...choices })
    const oldest = super.surveyIndexes(startAt).filter(this.#hasFourSources)[SURVEYS - 1]
    if (oldest === undefined) throw new Error('the world has too few surveys')
    this.#oldest = oldest
  }

  override surveyIndexes(at: Micros): number[] {
    return super.surveyIndexes(at).filter((place) => place >= this.#oldest && this.#hasFourSources(place))
  }

  override findSurvey(at: Micros, id: number): number | null {
    const place = super.findSurvey(at, id)
    return place !== null && place >= this.#oldest && this.#hasFourSources(place) ? place : null
  }

  override listSurveys(
    at: Micros,
    { statuses = [], updatedSince = Number.NEGATIVE_INFINITY }: SurveyFilter,
    first: number,
    count: number,
  ): Slice<SurveyResource> {
    if (statuses.length > 0) throw new Error('the month does not support a filter by status')
    const places = this.surveyIndexes(at).filter((place) => this.updatedAt(at, place) >= updatedSince)
    return {
      total: places.length,
      rows: places.slice(first, first + count).map((place) => this.survey(at, place)),
    }
  }

  isActive(at: Micros, place: number): boolean {
    return isActive(this.survey(at, place).status)
  }

  /** Every member's field is needed every night. Deriving it again took most of the time of a night. */
  override field(place: number): readonly FieldSource[] {
    const field = this.#fields.get(place) ?? super.field(place)
    if (this.#isMember.get(place) === true) this.#fields.set(place, field)
    return field
  }

  /** True only if all answers about the survey are the same at `from` and at `to`. */
  isUnchanged(place: number, from: Micros, to: Micros): boolean {
    const isBetween = (at: Micros | null) => at !== null && at > from && at <= to
    if (this.changesOf(place).some(({ at }) => isBetween(at))) return false
    return this.field(place).every((source) => {
      if (isBetween(source.removedAt) || source.versions.some(({ at }) => isBetween(at))) return false
      const { first, last } = this.#interviewTime(source)
      return to < first || last <= from
    })
  }

  /** The first start of an interview of the source, and a moment from which on none changes. */
  #interviewTime(source: FieldSource) {
    const known = this.#interviewTimes.get(source.id)
    if (known !== undefined) return known
    const { starts, durations, analysisMinutes, corrections } = source.interviews()
    let last = Math.max(...corrections.map(({ at }) => at))
    for (let place = 0; place < starts.length; place++) {
      const seconds = (durations[place] ?? 0) + 60 * (analysisMinutes[place] ?? 0)
      last = Math.max(last, (starts[place] ?? 0) + seconds * MICROS_PER_SECOND)
    }
    const time = { first: starts[0] ?? Number.POSITIVE_INFINITY, last }
    this.#interviewTimes.set(source.id, time)
    return time
  }

  readonly #hasFourSources = (place: number): boolean => {
    const known = this.#isMember.get(place)
    if (known !== undefined) return known
    const isMember = this.field(place).length === SOURCES
    this.#isMember.set(place, isMember)
    return isMember
  }
}

export const isActive = (status: SurveyStatus): boolean =>
  !['draft', 'complete', 'user_demo'].includes(status)
