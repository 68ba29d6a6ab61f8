/** Endpoint 3 of the API document, "View the fieldwork progress of a survey": of a whole survey, or of one source. */
import type { DayWindow } from '../model/calendar.js'
import type { Progress } from '../model/fields.js'
import { formatInstant } from '../model/instant.js'
import type { Reading, RequestContext } from '../model/survey-source.js'
import { answerTimes, openProgress } from './answer.js'
import { decodeAnswerRow } from './decode.js'
import { type Connection, getOfSurvey, type Query } from './endpoint.js'
import { progressDecoder } from './fieldwork-progress.js'

/**
 * The current indicators of all interviews, or of those that started in `window`. The bounds of a window are sent to the
 * microsecond. `sampleSourceId` null reads the whole survey. Throws `RefusedReadingError` when the API
 * refuses it.
 */
export const readProgress = async (
  connection: Connection,
  surveyId: number,
  sampleSourceId: number | null,
  context: RequestContext,
  window: DayWindow | null = null,
): Promise<Reading<Progress>> => {
  const path = `/surveys/${surveyId}/fieldwork_progress`
  const query: Query = [
    ...(sampleSourceId === null ? [] : [['sample_source_id', String(sampleSourceId)] as const]),
    ...(window === null
      ? []
      : [
          ['started_after', formatInstant(window.startedAfter)] as const,
          ['started_before', formatInstant(window.startedBefore)] as const,
        ]),
  ]
  const what =
    sampleSourceId === null ? `survey ${surveyId}` : `sample source ${sampleSourceId} of survey ${surveyId}`
  const answer = await getOfSurvey(connection, path, query, context, what)
  const part = [
    ...(sampleSourceId === null ? [] : [`sample source ${sampleSourceId}`]),
    ...(window === null ? [] : [`interviews started on ${window.day}`]),
  ].join(', ')
  const opened = openProgress(answer, part === '' ? path : `${path} (${part})`)
  const decoded = decodeAnswerRow(progressDecoder, opened.row)
  const beside = {
    ...answerTimes(answer, connection.clock),
    drift: [...opened.drift, ...decoded.drift],
  }
  if (decoded.ok) return { ...beside, row: decoded.row, rejections: [] }
  const rejection = {
    endpoint: 'fieldwork_progress',
    surveyId,
    sampleSourceId,
    rowId: null,
    ...(window === null ? {} : { day: window.day }),
    problem: decoded.problem,
    raw: decoded.raw,
  } as const
  return { ...beside, row: null, rejections: [rejection] }
}
