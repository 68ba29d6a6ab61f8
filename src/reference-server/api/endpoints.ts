/**
 * The three endpoints of the API document: parameters and answers in the document's words, and how each endpoint finds its answer. Each
 * parameter is declared once: it parses the text of a request, and the OpenAPI document shows what it accepts.
 */
import { z } from 'zod'
import { Refusal } from '../answer.js'
import {
  fieldworkProgress,
  object,
  sampleSource,
  survey,
  surveyStatus,
  wholeNumber,
  wholeNumberOrNull,
} from '../resources.js'
import { type ApiRequest, declareEndpoint, type Endpoint, momentParameter } from './operation.js'

const PAGE_MAX = 999_999_999
const GIVE_PAGE = `give a whole number from 1 to ${PAGE_MAX}`

const page = z
  .preprocess(
    (value) => numberOf(/^[1-9]\d*$/, value),
    z.int({ error: GIVE_PAGE }).min(1).max(PAGE_MAX, { error: GIVE_PAGE }),
  )
  .default(1)
  .meta({ description: 'Number of the requested page; 1 when left out' })

/** A number too large for any record becomes the largest safe integer, which no record has. */
const identifier = z
  .preprocess((value) => numberOf(/^\d+$/, value), z.int({ error: 'give a whole number' }).min(0))
  .meta({ format: 'int64' })

export const surveyId = identifier.meta({ description: 'Identifier of the survey' })

const numberOf = (form: RegExp, value: unknown): unknown =>
  typeof value === 'string' && form.test(value) ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : value

/** API document, "Pagination object": at the end of every list response. */
export const pagination = object('Pagination', 'The place of a page in the list', {
  current_page: wholeNumber('Number of the current page'),
  next_page: wholeNumberOrNull('Next page number; null when there is none'),
  prev_page: wholeNumberOrNull('Previous page number; null when there is none'),
  total_pages: wholeNumber('Total number of pages'),
  total_count: wholeNumber('Total number of records'),
})

const firstOfPage = (page: number, pageSize: number): number => (page - 1) * pageSize

/** Chosen where the document is silent: an empty list has 0 pages, and a page past the end has neither a next nor a previous one. */
export const paginationOf = (page: number, pageSize: number, totalCount: number) => {
  const totalPages = Math.ceil(totalCount / pageSize)
  return {
    current_page: page,
    next_page: page < totalPages ? page + 1 : null,
    prev_page: page > 1 && page <= totalPages ? page - 1 : null,
    total_pages: totalPages,
    total_count: totalCount,
  }
}

/** The statuses besides 200 that every endpoint may answer, each with its reason. */
const REFUSALS = {
  400: 'An invalid parameter: a bad status, date, page or id, or one that is given twice',
  401: 'Missing or wrong credentials',
  405: 'A method other than GET',
  429: 'The rate cap is exceeded. Retry with exponential backoff or added delays',
} as const

const SURVEY_REFUSALS = {
  ...REFUSALS,
  404: 'No such survey of this account, or no such sample source of this survey',
}

export const ENDPOINTS: readonly Endpoint[] = [
  declareEndpoint({
    path: '/surveys',
    operationId: 'listSurveys',
    summary: 'List surveys',
    description:
      "Returns all surveys of the caller's organization, sorted by `created_at` descending (most recent first). Paginated.",
    exampleQuery: 'status[]=pending&status[]=fieldwork',
    refusals: REFUSALS,
    query: z.object({
      status: surveyStatus.optional().meta({ description: 'Filters on one survey status value' }),
      'status[]': z.array(surveyStatus).optional().meta({
        description:
          'Filters on one or several survey status values, in array form: `status[]=<status>&status[]=<status>`',
      }),
      updated_since: momentParameter(
        'Returns the records modified since this date; the date itself is included',
      ).optional(),
      page,
    }),
    answer: object('SurveyList', 'A page of the survey list', {
      surveys: z.array(survey).meta({ description: 'The surveys of this page' }),
      pagination,
    }),
    answerTo: ({ organization, at, pageSize }, { page, status, 'status[]': several, updated_since }) => {
      const filter = { statuses: [status ?? [], several ?? []].flat(), updatedSince: updated_since }
      const { rows, total } = organization.listSurveys(at, filter, firstOfPage(page, pageSize), pageSize)
      return { surveys: rows, pagination: paginationOf(page, pageSize, total) }
    },
  }),
  declareEndpoint({
    path: '/surveys/{SURVEY_ID}/sample_sources',
    operationId: 'listSampleSources',
    summary: 'List the sample sources of a survey',
    description: 'Returns all sample sources of one survey. Paginated.',
    exampleQuery: 'page=1',
    refusals: SURVEY_REFUSALS,
    query: z.object({ page }),
    answer: object('SampleSourceList', 'A page of the sample sources of a survey', {
      sample_sources: z.array(sampleSource).meta({ description: 'The sample sources of this page' }),
      pagination,
    }),
    answerTo: (request, { page }) => {
      const { organization, at, pageSize } = request
      const sources = organization.listSampleSources(at, findSurvey(request))
      const first = firstOfPage(page, pageSize)
      return {
        sample_sources: sources.slice(first, first + pageSize),
        pagination: paginationOf(page, pageSize, sources.length),
      }
    },
  }),
  declareEndpoint({
    path: '/surveys/{SURVEY_ID}/fieldwork_progress',
    operationId: 'viewFieldworkProgress',
    summary: 'View the fieldwork progress of a survey',
    description:
      'Returns the fieldwork progress indicators of one survey. Not paginated; no `pagination` object is returned.',
    exampleQuery: '',
    refusals: SURVEY_REFUSALS,
    query: z.object({
      sample_source_id: identifier.optional().meta({
        description: 'Identifier of a sample source of this survey; restricts the indicators to that source',
      }),
      started_after: momentParameter(
        'Keeps interviews whose start date is on or after this date; when omitted there is no lower bound',
      ).optional(),
      started_before: momentParameter(
        'Keeps interviews whose start date is on or before this date; when omitted there is no upper bound',
      ).optional(),
    }),
    answer: object('FieldworkProgressAnswer', 'The fieldwork progress of a survey', {
      fieldwork_progress: fieldworkProgress,
    }),
    answerTo: (request, filter) => {
      const { organization, at } = request
      const progress = organization.progress(at, findSurvey(request), filter)
      if (progress === null) throw new Refusal(404, 'this survey has no such sample source')
      return { fieldwork_progress: progress }
    },
  }),
]

/** A survey of another account gets the same answer as an unknown survey, so that nobody can probe for ids. */
const findSurvey = ({ organization, at, surveyId: text }: ApiRequest): number => {
  const id = surveyId.safeParse(text).data
  const index = id === undefined ? null : organization.findSurvey(at, id)
  if (index === null) throw new Refusal(404, 'there is no such survey')
  return index
}
