/** Endpoint 1 of the API document, "List surveys". */
import type { Survey } from '../model/fields.js'
import { formatInstant } from '../model/instant.js'
import type { Page, RequestContext, SurveyListQuery } from '../model/survey-source.js'
import { answerTimes, openList } from './answer.js'
import type { Connection } from './endpoint.js'
import { decodePage } from './page.js'
import { decodeSurvey } from './survey.js'

/**
 * One page of the surveys, most recently created first. Never filtered by status: a survey that leaves the
 * filter would go stale. A 404 here is no missing survey but a wrong address, and stays the error it is.
 */
export const listSurveys = async (
  { http, clock }: Connection,
  { updatedSince, page }: SurveyListQuery,
  context: RequestContext,
): Promise<Page<Survey>> => {
  const path = '/surveys'
  const since = updatedSince === null ? [] : [['updated_since', formatInstant(updatedSince)] as const]
  const answer = await http.getJson(path, [...since, ['page', String(page)]], context)
  const list = openList(answer, { name: 'surveys', path, page })
  const decoded = decodePage(list.rows, decodeSurvey, ({ id, problem, raw }) => ({
    endpoint: 'surveys',
    surveyId: id,
    sampleSourceId: null,
    rowId: id,
    problem,
    raw,
  }))
  return {
    ...decoded,
    drift: [...list.drift, ...decoded.drift],
    pagination: list.pagination,
    ...answerTimes(answer, clock),
  }
}
