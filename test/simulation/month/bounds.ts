/** The requests of a night for three other readers: of everything, of all active surveys, and of exactly what has changed. */
import type { Micros } from '../../../src/reference-server/time.js'
import { NO_BOUNDS } from '../../../src/reference-server/world/indicators.js'
import type { MonthOrganization } from './organization.js'

/** Records per page of any list (API document, "Pagination object"). */
export const PAGE_SIZE = 50

/** The number of requests of one night. */
export interface Bounds {
  /** Every page, and for every survey its sources, its progress and that of each source. */
  readonly everything: number
  /** Every page, and the same for every active survey. */
  readonly everythingActive: number
  /** The pages of changed surveys, and every other answer that differs from the night before. */
  readonly least: number
}

/** All answers of the API about each survey beside its row at one moment, one per request, by the survey's place. */
export type Answers = ReadonlyMap<number, readonly string[]>

export const answersAt = (organization: MonthOrganization, at: Micros): Answers =>
  new Map(organization.surveyPlaces(at).map((place) => [place, answersOf(organization, at, place)]))

const answersOf = (organization: MonthOrganization, at: Micros, place: number): readonly string[] => {
  const sources = organization.listSampleSources(at, place)
  const progress = (id: number | null) => organization.progress(at, place, id, NO_BOUNDS)
  return [
    JSON.stringify(['sources', sources]),
    JSON.stringify(['survey', progress(null)]),
    ...sources.map(({ id }) => JSON.stringify([id, progress(id)])),
  ]
}

interface NightAnswers {
  readonly at: Micros
  readonly answers: Answers
}

/** `before` is the night before; null for the first night. */
export const boundsOf = (
  organization: MonthOrganization,
  now: NightAnswers,
  before: NightAnswers | null,
): Bounds => {
  const places = [...now.answers.keys()]
  const pages = Math.ceil(places.length / PAGE_SIZE)
  const total = (some: readonly number[]) =>
    some.reduce((sum, place) => sum + (now.answers.get(place)?.length ?? 0), 0)
  const isListed = (place: number) => before === null || organization.changedAt(now.at, place) > before.at
  const isNew = (place: number, answer: string) => before?.answers.get(place)?.includes(answer) !== true
  const listed = places.filter(isListed).length
  const changed = [...now.answers].flatMap(([place, answers]) =>
    answers.filter((answer) => isNew(place, answer)),
  )
  return {
    everything: pages + total(places),
    everythingActive: pages + total(places.filter((place) => organization.isActive(now.at, place))),
    least: Math.max(1, Math.ceil(listed / PAGE_SIZE)) + changed.length,
  }
}
