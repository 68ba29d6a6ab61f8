/** What the API answers on a night, compared with the requests that were made for it and with the rows that were published. */
import { INTERVIEW_STATUSES, type ProgressResource } from '../../../src/reference-server/resources.js'
import type { Micros } from '../../../src/reference-server/time.js'
import { openReader } from '../../support/warehouse/duckdb.js'
import { type MonthOrganization, PAGE_SIZE } from './organization.js'

/** The number of requests of one night, for three other readers. */
export interface Bounds {
  /** Every page, and for every survey its sources, its progress and that of each source. */
  readonly everything: number
  /** Every page, and the same for every active survey. */
  readonly everythingActive: number
  /** The pages of changed surveys, and every other answer that differs from the night before. */
  readonly least: number
}

interface NightAnswers {
  readonly at: Micros
  /** All answers of the API about each survey beside its row, one per request, by the survey's place. */
  readonly answers: ReadonlyMap<number, readonly string[]>
}

export const answersAt = (organization: MonthOrganization, at: Micros): NightAnswers['answers'] =>
  new Map(
    organization.surveyPlaces(at).map((place) => {
      const sources = organization.listSampleSources(at, place)
      const progress = (id?: number) => organization.progress(at, place, { sample_source_id: id })
      const answers = [
        ['sources', sources],
        ['survey', progress()],
        ...sources.map(({ id }) => [id, progress(id)]),
      ]
      return [place, answers.map((answer) => JSON.stringify(answer))]
    }),
  )

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

const COUNTS = ['sample_size', 'interviews_count', ...INTERVIEW_STATUSES.map((name) => `${name}_individuals`)]
const PROGRESS_FACT = `concat_ws(' ', ${COUNTS.join(', ')}) AS fact`

/** Queries of published rows, with the columns `survey`, `source` and `fact`. */
const FACTS = {
  surveys: `SELECT id AS survey, 0 AS source, concat_ws('|', status, title, project_id) AS fact
    FROM surveys WHERE _missing_since IS NULL`,
  sources: `SELECT survey_id AS survey, id AS source, concat_ws('|', id, sample_size, name, description) AS fact
    FROM sample_sources WHERE _missing_since IS NULL`,
  progress: `SELECT survey_id AS survey, 0 AS source, ${PROGRESS_FACT} FROM survey_progress
    UNION ALL SELECT survey_id, sample_source_id, ${PROGRESS_FACT} FROM sample_source_progress WHERE _missing_since IS NULL`,
}

/** The number of surveys whose published rows differ from the API: the price of the requests that were not made. */
export type Behind = Readonly<Record<keyof typeof FACTS, number>>

export const countBehind = async (
  organization: MonthOrganization,
  at: Micros,
  file: string,
): Promise<Behind> => {
  using reader = await openReader(file)
  const current = organization
    .surveyPlaces(at)
    .map((place) => [organization.surveyId(place), factsOf(organization, at, place)] as const)
  const behind = async (kind: keyof typeof FACTS): Promise<number> => {
    const rows = await reader.query(
      `SELECT survey::DOUBLE AS survey, string_agg(fact, chr(10) ORDER BY source) AS facts FROM (${FACTS[kind]}) GROUP BY survey`,
    )
    const published = new Map(rows.map(({ survey, facts }) => [Number(survey), String(facts)]))
    return current.filter(([id, facts]) => (published.get(id) ?? '') !== facts[kind]).length
  }
  return {
    surveys: await behind('surveys'),
    sources: await behind('sources'),
    progress: await behind('progress'),
  }
}

/** The same facts as the API has them. */
const factsOf = (organization: MonthOrganization, at: Micros, place: number) => {
  const { status, title, project_id } = organization.survey(at, place)
  const sources = organization.listSampleSources(at, place).toSorted((one, other) => one.id - other.id)
  const progress = [undefined, ...sources.map(({ id }) => id)].map((id) =>
    progressFact(organization.progress(at, place, { sample_source_id: id })),
  )
  return {
    surveys: [status, title, ...(project_id === null ? [] : [project_id])].join('|'),
    sources: sources
      .map(({ id, sample_size, name, description }) => [id, sample_size, name, description].join('|'))
      .join('\n'),
    progress: progress.join('\n'),
  }
}

const progressFact = (progress: ProgressResource | null): string => {
  if (progress === null) return ''
  const { sample_size, interviews_count, interview_count_by_status: counts } = progress
  return [sample_size, interviews_count, ...INTERVIEW_STATUSES.map((name) => counts[name].individuals)].join(
    ' ',
  )
}
