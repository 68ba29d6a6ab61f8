/** Endpoint 2 of the API document, "List the sample sources of a survey". */
import type { SampleSource } from '../model/fields.js'
import type { Page, RequestContext } from '../model/survey-source.js'
import { type Connection, getOfSurvey } from './endpoint.js'
import { pageOf } from './page.js'
import { sampleSourceDecoder } from './sample-source.js'

/** One page of the sample sources of a survey. Throws `RefusedReadingError` when the API refuses it. */
export const listSampleSources = async (
  connection: Connection,
  surveyId: number,
  page: number,
  context: RequestContext,
): Promise<Page<SampleSource>> => {
  const path = `/surveys/${surveyId}/sample_sources`
  const query = [['page', String(page)]] as const
  const answer = await getOfSurvey(connection, path, query, context, `survey ${surveyId}`)
  const list = { name: 'sample_sources', path, page } as const
  return pageOf(answer, connection.clock, list, sampleSourceDecoder, (id) => ({
    surveyId,
    sampleSourceId: id,
  }))
}
