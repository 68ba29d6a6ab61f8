/** Counts the surveys whose published rows differ from the API: the price of the requests that were not made. */
import { DuckDBInstance } from '@duckdb/node-api'
import { INTERVIEW_STATUSES, type ProgressResource } from '../../../src/reference-server/resources.js'
import type { Micros } from '../../../src/reference-server/time.js'
import { NO_BOUNDS } from '../../../src/reference-server/world/indicators.js'
import type { MonthOrganization } from './organization.js'

/** The number of surveys that differ from the API, by kind of row. */
export interface Behind {
  readonly surveys: number
  readonly sources: number
  readonly progress: number
}

/** All rows of a kind as text, by survey. */
type Facts = ReadonlyMap<number, string>

export const countBehind = async (
  organization: MonthOrganization,
  at: Micros,
  file: string,
): Promise<Behind> => {
  const published = await readPublished(file)
  const behind = { surveys: 0, sources: 0, progress: 0 }
  for (const place of organization.surveyPlaces(at)) {
    const id = organization.surveyId(place)
    const current = factsOf(organization, at, place)
    for (const kind of KINDS) if ((published[kind].get(id) ?? '') !== current[kind]) behind[kind] += 1
  }
  return behind
}

const KINDS = ['surveys', 'sources', 'progress'] as const

const COUNTS = ['sample_size', 'interviews_count', ...INTERVIEW_STATUSES.map((name) => `${name}_individuals`)]
const PROGRESS_FACT = `concat_ws(' ', ${COUNTS.join(', ')}) AS fact`

/** Queries with the columns `survey`, `source` and `fact`. */
const FACTS = {
  surveys: `SELECT id AS survey, 0 AS source, concat_ws('|', status, title, project_id) AS fact
    FROM surveys WHERE _missing_since IS NULL`,
  sources: `SELECT survey_id AS survey, id AS source, concat_ws('|', id, sample_size, name, description) AS fact
    FROM sample_sources WHERE _missing_since IS NULL`,
  progress: `SELECT survey_id AS survey, 0 AS source, ${PROGRESS_FACT} FROM survey_progress
    UNION ALL SELECT survey_id, sample_source_id, ${PROGRESS_FACT} FROM sample_source_progress WHERE _missing_since IS NULL`,
}

const readPublished = async (file: string): Promise<Record<(typeof KINDS)[number], Facts>> => {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  const read = async (facts: string): Promise<Facts> => {
    const sql = `SELECT survey::DOUBLE, string_agg(fact, chr(10) ORDER BY source) FROM (${facts}) GROUP BY survey`
    const rows = (await connection.runAndReadAll(sql)).getRows()
    return new Map(rows.map(([survey, text]) => [Number(survey), String(text)]))
  }
  try {
    return {
      surveys: await read(FACTS.surveys),
      sources: await read(FACTS.sources),
      progress: await read(FACTS.progress),
    }
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** The same facts as the API has them. */
const factsOf = (organization: MonthOrganization, at: Micros, place: number) => {
  const { status, title, project_id } = organization.survey(at, place)
  const sources = organization.listSampleSources(at, place).toSorted((one, other) => one.id - other.id)
  const progress = [null, ...sources.map(({ id }) => id)].map((id) =>
    progressFact(organization.progress(at, place, id, NO_BOUNDS)),
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
