/** The API of a night in which some surveys are in fieldwork again, and each has new interviews. */
import { INTERVIEW_STATUSES } from '../../../dist/model/fields.js'

const SOURCES = 2
const PAGE_SIZE = 50

/** The body of an answer. `changed` are the ids that the list of changes shows, `surveys` is the number of all. */
export const answerOf = (path, query, changed, surveys) => {
  if (path.endsWith('/surveys'))
    return paged(
      'surveys',
      changed.map(survey),
      Number(query.get('page') ?? 1),
      query.has('updated_since') ? changed.length : surveys,
    )
  const id = Number(/surveys\/(\d+)\//.exec(path)?.[1])
  const sources = Array.from({ length: SOURCES }, (_, at) => source(id * 100 + at))
  if (path.endsWith('/sample_sources')) return paged('sample_sources', sources, 1)
  return { fieldwork_progress: progress(id, Number(query.get('sample_source_id') ?? id)) }
}

function paged(name, rows, page, total = rows.length) {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_SIZE))
  return {
    [name]: rows.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE),
    pagination: {
      ...{ current_page: page, total_pages: pages, total_count: total },
      ...{ next_page: page < pages ? page + 1 : null, prev_page: page > 1 ? page - 1 : null },
    },
  }
}

const CREATED = { created_at: '2024-01-01T00:00:00Z' }
const OF_SURVEYS = {
  ...{ project_id: null, status: 'fieldwork', owner_organization_id: 1, transition_style: 'single_page' },
  ...{ respondent_questions_count: 10, respondent_iterations_count: 12, ...CREATED },
}
const OF_SOURCES = {
  ...{ provider: 'panel', sample_size: 500, country_code: 'FR', panelist_id_required: false },
  ...{ updated_at: '2026-01-01T00:00:00Z', ...CREATED },
}

function survey(id) {
  const updated_at = new Date().toISOString()
  return { ...OF_SURVEYS, id, title: `Survey ${id}, second wave`, hashid: `s${id}`, updated_at }
}

function source(id) {
  const named = { name: `S${id % 100}`, description: `Source ${id}, second wave`, hashid: `s${id}` }
  return { ...OF_SOURCES, ...named, id }
}

function progress(surveyId, id) {
  const count = (salt) => (id * 31 + surveyId * 7 + salt * 131) % 1_000
  const statuses = INTERVIEW_STATUSES.map((status, at) => [
    status,
    { individuals: count(at), percentage: count(at) / 10 },
  ])
  return {
    sample_size: 1_000,
    interviews_count: count(0),
    interview_count_by_status: Object.fromEntries(statuses),
    ...{ completion_rate: count(0) / 1_000, questionnaire_incidence_rate: 0.5, drop_out_rate: 0.1 },
    ...{ target_incidence_rate: 0.6, incidence_rate: 0.6, length_of_interview: 300 + (id % 300) },
  }
}
