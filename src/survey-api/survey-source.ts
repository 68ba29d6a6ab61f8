/** The port `SurveySource` over HTTP. All requests of a run start here. */
import type { Clock } from '../base/clock.js'
import type { HttpClient, JsonAnswer } from '../http/client.js'
import { StatusError } from '../http/errors.js'
import type { DayWindow } from '../model/calendar.js'
import type { Progress, SampleSource, Survey } from '../model/fields.js'
import { formatInstant } from '../model/instant.js'
import {
  type Page,
  type Reading,
  type RefusalKind,
  RefusedReadingError,
  type RequestContext,
  type SurveyListQuery,
  type SurveySource,
} from '../model/survey-source.js'
import { answerTimes, openProgress, pageOf } from './answer.js'
import { decodeAnswerRow } from './decode.js'
import { progressDecoder } from './fieldwork-progress.js'
import { sampleSourceDecoder } from './sample-source.js'
import { surveyDecoder } from './survey.js'

/**
 * `clock` dates the answers of a server that sends no `Date`; `attemptsMax` is that of `http`. The caller closes `http`.
 */
export const createSurveySource = (http: HttpClient, clock: Clock, attemptsMax: number): SurveySource => {
  const connection = Object.freeze({ http, clock, attemptsMax })
  return Object.freeze<SurveySource>({
    listSurveys: (query, context) => listSurveys(connection, query, context),
    listSampleSources: (surveyId, page, context) => listSampleSources(connection, surveyId, page, context),
    readSurveyProgress: (surveyId, context) => readProgress(connection, surveyId, null, context),
    readSampleSourceProgress: (surveyId, sampleSourceId, context) =>
      readProgress(connection, surveyId, sampleSourceId, context),
    readDayProgress: (surveyId, sampleSourceId, window, context) =>
      readProgress(connection, surveyId, sampleSourceId, context, window),
    usage: () => http.usage(),
  })
}

// Endpoint 1 of the API document, "List surveys".

/**
 * One page of the surveys, most recently created first. Never filtered by status: a survey that leaves the
 * filter would go stale. A refusal ends the run. So a refused page is requested once more, unless `attemptsMax` is 1.
 * Throws the `StatusError` of the last refusal.
 */
const listSurveys = async (
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

// Endpoint 2 of the API document, "List the sample sources of a survey".

/** One page of the sample sources of a survey. Throws `RefusedReadingError` when the API refuses it. */
const listSampleSources = async (
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

// Endpoint 3 of the API document, "View the fieldwork progress of a survey": of a whole survey, or of one source.

/**
 * The current indicators of all interviews, or of those that started in `window`. The bounds of a window are sent to the
 * microsecond. `sampleSourceId` null reads the whole survey. Throws `RefusedReadingError` when the API
 * refuses it.
 */
const readProgress = async (
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

/** One GET for the endpoints of a survey, and the meaning of a refusal. */

/** What every endpoint needs. */
export interface Connection {
  readonly http: HttpClient
  readonly clock: Clock
  /** How often a request may be sent. With 1 a refused list is not requested again. */
  readonly attemptsMax: number
}

export type Query = readonly (readonly [name: string, value: string])[]

/** GETs a resource of one survey. Throws `RefusedReadingError` when the API refuses `what`. */
export const getOfSurvey = async (
  { http }: Connection,
  path: string,
  query: Query,
  context: RequestContext,
  what: string,
): Promise<JsonAnswer> => {
  try {
    return await http.getJson(path, query, context)
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    const kind = kindOf(error)
    const problem =
      kind === 'forbidden' ? `GET ${path} returned ${error.status} for this id and token` : error.message
    throw new RefusedReadingError(kind, `${what} cannot be read: ${problem}`, { cause: error })
  }
}

const kindOf = (error: StatusError): RefusalKind => {
  if (error.code === 'not_there') return 'not_found'
  return error.code === 'credentials_refused' ? 'forbidden' : 'rejected'
}
