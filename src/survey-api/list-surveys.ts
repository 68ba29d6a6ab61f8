/** Endpoint 1 of the API document, "List surveys". */
import type { JsonAnswer } from '../http/client.js'
import { StatusError } from '../http/errors.js'
import type { Survey } from '../model/fields.js'
import { formatInstant } from '../model/instant.js'
import type { Page, RequestContext, SurveyListQuery } from '../model/survey-source.js'
import type { Connection, Query } from './endpoint.js'
import { pageOf } from './page.js'
import { surveyDecoder } from './survey.js'

/**
 * One page of the surveys, most recently created first. Never filtered by status: a survey that leaves the
 * filter would go stale. A refusal ends the run. So a refused page is requested once more, unless `attemptsMax` is 1.
 * Throws the `StatusError` of the last refusal.
 */
export const listSurveys = async (
  { http, clock, attemptsMax }: Connection,
  { updatedSince, page }: SurveyListQuery,
  context: RequestContext,
): Promise<Page<Survey>> => {
  const path = '/surveys'
  const since = updatedSince === null ? [] : [['updated_since', formatInstant(updatedSince)] as const]
  const query: Query = [...since, ['page', String(page)]]
  const request = (): Promise<JsonAnswer> => http.getJson(path, query, context)
  const answer = await request().catch((error: unknown) => {
    if (error instanceof StatusError && attemptsMax > 1) return request()
    throw error
  })
  const list = { name: 'surveys', path, page } as const
  return pageOf(answer, clock, list, surveyDecoder, (id) => ({ surveyId: id, sampleSourceId: null }))
}
