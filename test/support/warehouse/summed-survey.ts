/** A survey whose counts are the sums of those of its sources, and which of them the warehouse has otherwise. */
import { INTERVIEW_STATUSES, type InterviewStatus, type Progress } from '../../../src/model/fields.js'
import { type MemorySource, type MemorySurvey, memorySource } from '../api/memory-source.js'
import { progress, source } from './rows.js'
import type { TestWarehouse } from './warehouse.js'

export type Counts = Partial<Record<InterviewStatus, number>> & { readonly target?: number }

/** Progress with a number for every status, and the indicators that follow from them. */
export const counted = ({ target = 100, ...counts }: Counts, change: Partial<Progress> = {}): Progress => {
  const { complete = 0, screen_out = 0 } = counts
  return progress(complete, {
    ...{ sample_size: target, completion_rate: target === 0 ? 0 : complete / target },
    target_incidence_rate: complete + screen_out === 0 ? null : complete / (complete + screen_out),
    ...Object.fromEntries(INTERVIEW_STATUSES.map((name) => [`${name}_individuals`, counts[name] ?? 0])),
    ...change,
  })
}

const countsOf = (row: Progress): Counts => ({
  target: row.sample_size ?? 0,
  ...Object.fromEntries(INTERVIEW_STATUSES.map((name) => [name, row[`${name}_individuals`] ?? 0])),
})

const plus = (one: Counts, other: Counts): Counts =>
  Object.fromEntries(
    (['target', ...INTERVIEW_STATUSES] as const).map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]),
  )

/** The survey as the sum of its sources and of interviews that belong to none. A count that one of them leaves out is null. */
export const summed = (survey: MemorySurvey, others: Counts = { target: 0 }) => {
  const rows = survey.sources.flatMap(({ id }) => survey.sourceProgress[id] ?? [])
  const unknown = rows.reduce((sum, { _extra }) => sum + Number(/\d+/.exec(_extra ?? '')?.[0] ?? 0), 0)
  survey.progress = counted(rows.map(countsOf).reduce(plus, others), {
    _extra: unknown === 0 ? null : `{"new":${unknown}}`,
    ...(rows.some((row) => row.speeder_individuals === null) && { speeder_individuals: null }),
  })
}

/** The sources move in the API, and the survey with them. */
export const move = (survey: MemorySurvey, changes: Readonly<Record<number, Counts>>) => {
  for (const [id, change] of Object.entries(changes))
    survey.sourceProgress[Number(id)] = counted(
      plus(countsOf(survey.sourceProgress[Number(id)] ?? counted({})), { target: 0, ...change }),
    )
  summed(survey)
}

/** `count` sources with the ids from 11 on; the first has the most interviews. */
export const world = (count = 4): { api: MemorySource; survey: MemorySurvey } => {
  const ids = Array.from({ length: count }, (_, place) => 11 + place)
  const survey: MemorySurvey = {
    sources: ids.map((id) => source(id)),
    progress: null,
    sourceProgress: Object.fromEntries(ids.map((id) => [id, counted({ complete: 90 - id, screen_out: 5 })])),
  }
  summed(survey)
  return { api: memorySource({ 1: survey }), survey }
}

export const LIST = 'sources 1 page 1'
const sorted = (ids: readonly (string | number)[]) => ids.map(Number).toSorted((one, other) => one - other)

/** Sources whose stored progress or list differs from that of the API. */
export const differing = async (
  warehouse: TestWarehouse,
  api: MemorySource,
  surveyId = 1,
): Promise<number[]> => {
  const { sources, sourceProgress } = api.surveys.get(surveyId)!
  const columns = Object.keys(counted({})).join(', ')
  const rows = await warehouse.rows(
    `SELECT sample_source_id, ${columns} FROM sample_source_progress WHERE survey_id = ${surveyId} AND _missing_since IS NULL`,
  )
  const stored = new Map(rows.map(({ sample_source_id, ...row }) => [Number(sample_source_id), row]))
  const ids = new Set([...stored.keys(), ...sources.map(({ id }) => id)])
  return sorted(
    [...ids].filter((id) => JSON.stringify(stored.get(id)) !== JSON.stringify(sourceProgress[id])),
  )
}
