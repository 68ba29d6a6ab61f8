/** Published rows that differ from the API after a night: the price of the requests that were not made. */
import {
  INTERVIEW_STATUSES,
  type ProgressResource,
  type SampleSourceResource,
  type SurveyResource,
} from '../../../src/reference-server/resources.js'
import { openReader } from '../../support/warehouse/duckdb.js'
import { isActive } from './organization.js'

/** What is compared of one survey. Each list has one text per row, which begins with the id of the source (0: the survey). */
export interface SurveyFacts {
  readonly id: number
  readonly status: SurveyResource['status']
  /** Title and project id of the survey; name and description of each source. */
  readonly texts: readonly string[]
  /** The status of the survey, and the target of each source. */
  readonly targets: readonly string[]
  /** Every column of the progress. */
  readonly progress: readonly string[]
}

/** The numbers of surveys. */
export interface Behind {
  /** A title, project id, name or description differs. */
  readonly texts: number
  /** A status, source, target or any column of a progress differs, or the API no longer has the survey. */
  readonly counts: number
  /** The same, of complete surveys. */
  readonly countsOfClosed: number
  /** Names, descriptions, targets or ids of sources differ; `sourcesOfActive` are in active surveys. */
  readonly sources: number
  readonly sourcesOfActive: number
  /** For how many nights the survey that has been behind for longest has been. */
  readonly nights: number
}

const RATES = [
  ...['completion_rate', 'questionnaire_incidence_rate', 'target_incidence_rate', 'incidence_rate'],
  'drop_out_rate',
] as const
/** Rates and percentages are compared as whole numbers of this part, because languages print a double in different ways. */
const PARTS = 1e9
const whole = (column: string): string => `coalesce(${column}::VARCHAR, 'null')`
const parts = (column: string): string => whole(`round(${column} * ${PARTS})::BIGINT`)
const PROGRESS = `concat_ws(' ', ${[
  ...['sample_size', 'interviews_count', 'length_of_interview'].map(whole),
  ...RATES.map(parts),
  ...INTERVIEW_STATUSES.flatMap((name) => [whole(`${name}_individuals`), parts(`${name}_percentage`)]),
].join(', ')})`

/** Queries of published rows, with the columns `survey`, `source` and `fact`. */
const FACTS = {
  texts: `SELECT id AS survey, 0 AS source, concat_ws('|', title, project_id) AS fact FROM surveys WHERE _missing_since IS NULL
    UNION ALL SELECT survey_id, id, concat_ws('|', name, description) FROM sample_sources WHERE _missing_since IS NULL`,
  targets: `SELECT id AS survey, 0 AS source, status AS fact FROM surveys WHERE _missing_since IS NULL
    UNION ALL SELECT survey_id, id, sample_size::VARCHAR FROM sample_sources WHERE _missing_since IS NULL`,
  progress: `SELECT survey_id AS survey, 0 AS source, ${PROGRESS} AS fact FROM survey_progress WHERE _missing_since IS NULL
    UNION ALL SELECT survey_id, sample_source_id, ${PROGRESS} FROM sample_source_progress WHERE _missing_since IS NULL`,
}

/** The same facts as the API has them. */
export const factsOf = (
  { id, status, title, project_id }: SurveyResource,
  sources: readonly SampleSourceResource[],
  progress: readonly (readonly [source: number, progress: ProgressResource | null])[],
): SurveyFacts => {
  const inOrder = sources.toSorted((one, other) => one.id - other.id)
  return {
    id,
    status,
    texts: [
      ['0', [title, project_id].filter((text) => text !== null).join('|')].join(' '),
      ...inOrder.map((source) => `${source.id} ${source.name}|${source.description}`),
    ],
    targets: [`0 ${status}`, ...inOrder.map((source) => `${source.id} ${source.sample_size}`)],
    progress: progress
      .toSorted(([one], [other]) => one - other)
      .map(([source, shown]) => `${source} ${shown === null ? '' : progressFact(shown)}`),
  }
}

const progressFact = (progress: ProgressResource): string => {
  const partsOf = (value: number | null | undefined) =>
    typeof value === 'number' ? Math.round(value * PARTS) : 'null'
  const { sample_size, interviews_count, length_of_interview, interview_count_by_status } = progress
  return [
    ...[sample_size, interviews_count, length_of_interview ?? 'null'],
    ...RATES.map((name) => partsOf(progress[name])),
    ...INTERVIEW_STATUSES.flatMap((name) => {
      const { individuals, percentage } = interview_count_by_status[name]
      return [individuals, partsOf(percentage)]
    }),
  ].join(' ')
}

/** Compares night after night. */
export const createComparison = () => {
  /** For how many nights each survey has been behind, by its id. */
  let ages = new Map<number, number>()
  return async (current: readonly SurveyFacts[], file: string): Promise<Behind> => {
    const published = await readPublished(file)
    const compared = current.map((facts) => ({ facts, ...differences(facts, published) }))
    const numberOf = (isMeant: (one: (typeof compared)[number]) => boolean) => compared.filter(isMeant).length
    const ids = new Set(current.map(({ id }) => id))
    const gone = [...published.targets.keys()].filter((id) => !ids.has(id))
    const behind = compared.flatMap(({ facts, texts, counts }) => (texts || counts ? [facts.id] : []))
    ages = new Map([...behind, ...gone].map((id) => [id, (ages.get(id) ?? 0) + 1]))
    return {
      texts: numberOf(({ texts }) => texts),
      counts: numberOf(({ counts }) => counts) + gone.length,
      countsOfClosed: numberOf(({ counts, facts }) => counts && facts.status === 'complete'),
      sources: numberOf(({ sources }) => sources),
      sourcesOfActive: numberOf(({ sources, facts }) => sources && isActive(facts.status)),
      nights: Math.max(0, ...ages.values()),
    }
  }
}

type Published = Readonly<Record<keyof typeof FACTS, ReadonlyMap<number, readonly string[]>>>

const readPublished = async (file: string): Promise<Published> => {
  using reader = await openReader(file)
  const read = async (kind: keyof typeof FACTS) => {
    const rows = await reader.query(
      `SELECT survey::DOUBLE AS survey, string_agg(concat_ws(' ', source, fact), chr(10) ORDER BY source) AS facts
       FROM (${FACTS[kind]}) GROUP BY survey`,
    )
    return new Map(rows.map(({ survey, facts }) => [Number(survey), String(facts).split('\n')]))
  }
  return { texts: await read('texts'), targets: await read('targets'), progress: await read('progress') }
}

/** A text that only one side has is no text that differs, but a source that differs. */
const differences = (facts: SurveyFacts, published: Published) => {
  const differs = (kind: keyof typeof FACTS, isMeant: (source: string) => boolean = () => true) => {
    const rows = (published[kind].get(facts.id) ?? []).filter((row) => isMeant(sourceOf(row)))
    return rows.join('\n') !== facts[kind].filter((row) => isMeant(sourceOf(row))).join('\n')
  }
  const sourcesOf = (rows: readonly string[] = []) => new Set(rows.map(sourceOf))
  const [ours, theirs] = [sourcesOf(published.targets.get(facts.id)), sourcesOf(facts.targets)]
  const isInBoth = (source: string) => ours.has(source) && theirs.has(source)
  const isSource = (source: string) => source !== '0'
  return {
    texts: differs('texts', isInBoth),
    counts: differs('targets') || differs('progress'),
    sources: differs('texts', isSource) || differs('targets', isSource),
  }
}

const sourceOf = (row: string): string => row.slice(0, row.indexOf(' '))
