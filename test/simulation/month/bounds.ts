/** What a night costs whoever asks for everything, whoever asks for all that is active, and whoever knew beforehand what has changed. */
import type { Micros } from '../../../src/reference-server/time/iso-time.js'
import { NO_BOUNDS } from '../../../src/reference-server/world/indicators.js'
import type { MonthOrganization } from './organization.js'

/** Records of a page of any list (API document, "Pagination object"). */
export const PAGE_SIZE = 50

/** Requests of one night. */
export interface Bounds {
  /** Every page, and of every survey its sources, its progress and that of each source. */
  readonly everything: number
  /** Every page, and the same of every active survey. */
  readonly everythingLive: number
  /** The pages of what changed, and every other answer that is not what it was in the night before. */
  readonly least: number
}

/** All that the API tells at one moment of each survey beside its row, an answer a request, by the survey's place. */
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

interface Told {
  readonly at: Micros
  readonly answers: Answers
}

/** `before` is the night before; null: nothing is known. */
export const boundsOf = (organization: MonthOrganization, now: Told, before: Told | null): Bounds => {
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
    everythingLive: pages + total(places.filter((place) => organization.isActive(now.at, place))),
    least: Math.max(1, Math.ceil(listed / PAGE_SIZE)) + changed.length,
  }
}
