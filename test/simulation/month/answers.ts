/** What the API answers about every survey on a night, and how many requests other readers would need for it. */
import type { Micros } from '../../../src/reference-server/time.js'
import { factsOf, type SurveyFacts } from './behind.js'
import { type MonthOrganization, PAGE_SIZE } from './organization.js'

/** All that the API answers about one survey beside its row. */
interface SurveyAnswers {
  /** The list of sources, the progress of the survey, then that of each source, one request each. */
  readonly answers: readonly string[]
  readonly facts: SurveyFacts
}

/** By the survey's place. */
export interface NightAnswers {
  readonly at: Micros
  readonly surveys: ReadonlyMap<number, SurveyAnswers>
}

/** `before` is an earlier night: a survey that cannot have changed since then keeps its answers. */
export const answersAt = (
  organization: MonthOrganization,
  at: Micros,
  before: NightAnswers | null,
): NightAnswers => {
  const answersOf = (place: number): SurveyAnswers => {
    const known = before?.surveys.get(place)
    if (known !== undefined && before !== null && organization.isUnchanged(place, before.at, at)) return known
    const sources = organization.listSampleSources(at, place)
    const progress = [undefined, ...sources.map(({ id }) => id)].map(
      (id) => [id ?? 0, organization.progress(at, place, { sample_source_id: id })] as const,
    )
    return {
      answers: [sources, ...progress].map((answer) => JSON.stringify(answer)),
      facts: factsOf(organization.survey(at, place), sources, progress),
    }
  }
  return { at, surveys: new Map(organization.surveyIndexes(at).map((place) => [place, answersOf(place)])) }
}

/** The number of requests of one night, for other readers. */
export interface Bounds {
  /** Every page, and for every survey its sources, its progress and that of each source. */
  readonly everything: number
  /** Every page, and the same for every active survey. */
  readonly everythingActive: number
  /** The least if all changes were known: the pages of changed surveys, and every other answer that differs from the night before. */
  readonly least: number
  /**
   * The same for a reader who calculates, because counts of a survey are sums over its sources: where the survey's progress changed, one
   * changed answer follows from the others. Only `length_of_interview` does not.
   */
  readonly calculated: number
}

/** `before` is the night before; null for the first night. */
export const boundsOf = (
  organization: MonthOrganization,
  now: NightAnswers,
  before: NightAnswers | null,
): Bounds => {
  const pages = Math.ceil(now.surveys.size / PAGE_SIZE)
  const bounds = { everything: pages, everythingActive: pages, least: 0, calculated: 0 }
  let listed = 0
  for (const [place, survey] of now.surveys) {
    const { answers } = survey
    bounds.everything += answers.length
    if (organization.isActive(now.at, place)) bounds.everythingActive += answers.length
    if (before === null || organization.updatedAt(now.at, place) > before.at) listed += 1
    const known = before?.surveys.get(place)
    if (known === survey) continue
    const [list, ofSurvey, ...ofSources] = answers.map((answer) => known?.answers.includes(answer) !== true)
    const changed = [list, ofSurvey, ...ofSources].filter(Boolean).length
    bounds.least += changed
    bounds.calculated += ofSurvey && ofSources.includes(true) ? changed - 1 : changed
  }
  const changedPages = Math.max(1, Math.ceil(listed / PAGE_SIZE))
  return { ...bounds, least: bounds.least + changedPages, calculated: bounds.calculated + changedPages }
}
