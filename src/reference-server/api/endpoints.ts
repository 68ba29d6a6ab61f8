/**
 * The three endpoints of the API document: their parameters and answers, in the document's words, and how each finds its
 * answer. They return a body or throw a `Refusal`; nothing here depends on HTTP.
 */
import { z } from 'zod'
import { fieldworkProgress } from '../resources/fieldwork-progress.js'
import { firstOfPage, pagination, paginationOf } from '../resources/pagination.js'
import { sampleSource } from '../resources/sample-source.js'
import { survey } from '../resources/survey.js'
import { type ApiRequest, declareEndpoint, type Endpoint } from './endpoint.js'
import { momentParameter, page, sampleSourceId, status, statuses, surveyId } from './parameters.js'
import { REFUSALS, Refusal } from './refusal.js'

export const surveyList = z
  .strictObject({ surveys: z.array(survey).meta({ description: 'The surveys of this page' }), pagination })
  .meta({ description: 'A page of the survey list' })

const listSurveys = declareEndpoint({
  path: '/surveys',
  operationId: 'listSurveys',
  summary: 'List surveys',
  description:
    "Returns all surveys of the caller's organization, sorted by `created_at` descending (most recent first). Paginated.",
  exampleQuery: 'status[]=pending&status[]=fieldwork',
  refusals: REFUSALS,
  query: z.object({
    status,
    'status[]': statuses,
    updated_since: momentParameter(
      'Returns the records modified since this date; the date itself is included',
    ).optional(),
    page,
  }),
  answer: surveyList,
  answerTo: ({ organization, at, pageSize }, { page, status, 'status[]': several, updated_since }) => {
    const statuses = [...(status === undefined ? [] : [status]), ...(several ?? [])]
    const filter = {
      statuses: statuses.length === 0 ? null : statuses,
      updatedSince: updated_since ?? null,
    }
    const { rows, total } = organization.listSurveys(at, filter, firstOfPage(page, pageSize), pageSize)
    return { surveys: rows, pagination: paginationOf(page, pageSize, total) }
  },
})

const SURVEY_REFUSALS = {
  ...REFUSALS,
  404: 'No such survey of this account, or no such sample source of this survey',
}

export const sampleSourceList = z
  .strictObject({
    sample_sources: z.array(sampleSource).meta({ description: 'The sample sources of this page' }),
    pagination,
  })
  .meta({ description: 'A page of the sample sources of a survey' })

const listSampleSources = declareEndpoint({
  path: '/surveys/{SURVEY_ID}/sample_sources',
  operationId: 'listSampleSources',
  summary: 'List the sample sources of a survey',
  description: 'Returns all sample sources of one survey. Paginated.',
  exampleQuery: 'page=1',
  refusals: SURVEY_REFUSALS,
  query: z.object({ page }),
  answer: sampleSourceList,
  answerTo: (request, { page }) => {
    const { organization, at, pageSize } = request
    const sources = organization.listSampleSources(at, findSurvey(request))
    const first = firstOfPage(page, pageSize)
    return {
      sample_sources: sources.slice(first, first + pageSize),
      pagination: paginationOf(page, pageSize, sources.length),
    }
  },
})

export const fieldworkProgressAnswer = z
  .strictObject({ fieldwork_progress: fieldworkProgress })
  .meta({ description: 'The fieldwork progress of a survey' })

const viewFieldworkProgress = declareEndpoint({
  path: '/surveys/{SURVEY_ID}/fieldwork_progress',
  operationId: 'viewFieldworkProgress',
  summary: 'View the fieldwork progress of a survey',
  description:
    'Returns the fieldwork progress indicators of one survey. Not paginated; no `pagination` object is returned.',
  exampleQuery: '',
  refusals: SURVEY_REFUSALS,
  query: z.object({
    sample_source_id: sampleSourceId,
    started_after: momentParameter(
      'Keeps interviews whose start date is on or after this date; when omitted there is no lower bound',
    ).optional(),
    started_before: momentParameter(
      'Keeps interviews whose start date is on or before this date; when omitted there is no upper bound',
    ).optional(),
  }),
  answer: fieldworkProgressAnswer,
  answerTo: (request, { sample_source_id, started_after, started_before }) => {
    const bounds = { startedAfter: started_after ?? null, startedBefore: started_before ?? null }
    const { organization, at } = request
    const progress = organization.progress(at, findSurvey(request), sample_source_id ?? null, bounds)
    if (progress === null) throw new Refusal(404, 'this survey has no such sample source')
    return { fieldwork_progress: progress }
  },
})

export const ENDPOINTS: readonly Endpoint[] = [listSurveys, listSampleSources, viewFieldworkProgress]

/** Another account's survey and an unknown one get the same answer, so that nobody can probe for ids. */
const findSurvey = ({ organization, at, surveyId: text }: ApiRequest): number => {
  const id = surveyId.safeParse(text).data
  const index = id === undefined ? null : organization.findSurvey(at, id)
  if (index === null) throw new Refusal(404, 'there is no such survey')
  return index
}
