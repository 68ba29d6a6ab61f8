/** Endpoint 3 of the API document, "View the fieldwork progress of a survey": of a whole survey, or of one source. */
import type { Progress } from '../model/fields.js'
import type { Reading, RequestContext } from '../model/survey-source.js'
import { answerTimes, openProgress } from './answer.js'
import { type Connection, getOfSurvey, type Query } from './endpoint.js'
import { decodeProgress } from './fieldwork-progress.js'

/**
 * The indicators as they are now, over all interviews: `started_after` and `started_before` are never sent.
 * `sampleSourceId` null reads those of the whole survey. Throws `NotFoundError` when the survey or the source is gone.
 */
export const readProgress = async (
  connection: Connection,
  surveyId: number,
  sampleSourceId: number | null,
  context: RequestContext,
): Promise<Reading<Progress>> => {
  const path = `/surveys/${surveyId}/fieldwork_progress`
  const query: Query = sampleSourceId === null ? [] : [['sample_source_id', String(sampleSourceId)]]
  const what =
    sampleSourceId === null ? `survey ${surveyId}` : `sample source ${sampleSourceId} of survey ${surveyId}`
  const answer = await getOfSurvey(connection, path, query, context, what)
  const { row, drift } = openProgress(
    answer,
    sampleSourceId === null ? path : `${path} (sample source ${sampleSourceId})`,
  )
  const decoded = decodeProgress(row)
  const times = answerTimes(answer, connection.clock)
  if (decoded.ok) return { ...times, row: decoded.row, rejections: [], drift: [...drift, ...decoded.drift] }
  const { problem, raw } = decoded
  const rejection = {
    endpoint: 'fieldwork_progress',
    surveyId,
    sampleSourceId,
    rowId: null,
    problem,
    raw,
  } as const
  return { ...times, row: null, rejections: [rejection], drift }
}
