/**
 * The three endpoints of the API document, as functions of what is asked to what is answered. They know no HTTP:
 * a body, or a `Refusal`.
 */
import type { Micros } from '../time/iso-time.js'
import type { Organization } from '../world/organization.js'
import type { ProgressResource, SampleSourceResource, SurveyResource } from '../world/resources.js'
import { firstOfPage, type PaginationResource, paginationOf } from './pages.js'
import { parseId, readId, readPage, readStatuses, readTime } from './query.js'
import { Refusal } from './refusal.js'

/** A request that has shown its credentials. */
export interface Asked {
  readonly organization: Organization
  /** The world's time on arrival: the whole answer is of this moment. */
  readonly at: Micros
  /** `SURVEY_ID` as it stands in the path; empty for the survey list. */
  readonly surveyId: string
  readonly query: URLSearchParams
  readonly pageSize: number
}

/** Endpoint 1, `GET /api/v1/surveys`. */
export const listSurveys = ({ organization, at, query, pageSize }: Asked): SurveyList => {
  const page = readPage(query)
  const filter = { statuses: readStatuses(query), updatedSince: readTime(query, 'updated_since') }
  const { rows, total } = organization.listSurveys(at, filter, firstOfPage(page, pageSize), pageSize)
  return { surveys: rows, pagination: paginationOf(page, pageSize, total) }
}

/** Endpoint 2, `GET /api/v1/surveys/{SURVEY_ID}/sample_sources`. */
export const listSampleSources = (asked: Asked): SampleSourceList => {
  const { organization, at, query, pageSize } = asked
  const page = readPage(query)
  const sources = organization.listSampleSources(at, findSurvey(asked))
  const first = firstOfPage(page, pageSize)
  return {
    sample_sources: sources.slice(first, first + pageSize),
    pagination: paginationOf(page, pageSize, sources.length),
  }
}

/** Endpoint 3, `GET /api/v1/surveys/{SURVEY_ID}/fieldwork_progress`. */
export const viewFieldworkProgress = (asked: Asked): FieldworkProgress => {
  const { organization, at, query } = asked
  const sourceId = readId(query, 'sample_source_id')
  const bounds = {
    startedAfter: readTime(query, 'started_after'),
    startedBefore: readTime(query, 'started_before'),
  }
  const progress = organization.progress(at, findSurvey(asked), sourceId, bounds)
  if (progress === null) throw new Refusal(404, 'this survey has no such sample source')
  return { fieldwork_progress: progress }
}

interface SurveyList {
  readonly surveys: readonly SurveyResource[]
  readonly pagination: PaginationResource
}

interface SampleSourceList {
  readonly sample_sources: readonly SampleSourceResource[]
  readonly pagination: PaginationResource
}

interface FieldworkProgress {
  readonly fieldwork_progress: ProgressResource
}

/** Another account's survey and one that never was are answered alike: ids are not to be probed. */
const findSurvey = ({ organization, at, surveyId }: Asked): number => {
  const id = parseId(surveyId)
  const index = id === null ? null : organization.findSurvey(at, id)
  if (index === null) throw new Refusal(404, 'there is no such survey')
  return index
}
