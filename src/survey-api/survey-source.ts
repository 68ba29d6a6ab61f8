/** The port `SurveySource` over HTTP. All requests of a run start here. */
import type { Clock } from '../base/clock.js'
import type { HttpClient } from '../http/client.js'
import { StatusError } from '../http/errors.js'
import type { DayWindow } from '../model/calendar.js'
import type { Progress } from '../model/fields.js'
import { formatInstant } from '../model/instant.js'
import {
  type Reading,
  type RefusalKind,
  RefusedReadingError,
  type RequestContext,
  type SurveySource,
} from '../model/survey-source.js'
import { answerTimes, openProgress, pageOf } from './answer.js'
import { decodeAnswerRow } from './decode.js'
import { progressDecoder, sampleSourceDecoder, surveyDecoder } from './resources.js'

type Query = readonly (readonly [name: string, value: string])[]

/** `clock` dates the answers of a server that sends no `Date`; `attemptsMax` is that of `http`. The caller closes `http`. */
export const createSurveySource = (http: HttpClient, clock: Clock, attemptsMax: number): SurveySource => {
  /** GETs a resource of one survey. Throws `RefusedReadingError` when the API refuses `what`. */
  const get = async (path: string, query: Query, context: RequestContext, what: string) => {
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
  /**
   * The current indicators of all interviews, or of those that started in `window` (endpoint 3). The bounds of a window are sent to
   * the microsecond. `sampleSourceId` null reads the whole survey. Throws `RefusedReadingError` when the API refuses it.
   */
  const readProgress = async (
    surveyId: number,
    sampleSourceId: number | null,
    window: DayWindow | null,
    context: RequestContext,
  ): Promise<Reading<Progress>> => {
    const endpoint = 'fieldwork_progress'
    const path = `/surveys/${surveyId}/${endpoint}`
    const query: [string, string][] = []
    const parts: string[] = []
    let what = `survey ${surveyId}`
    if (sampleSourceId !== null) {
      query.push(['sample_source_id', String(sampleSourceId)])
      parts.push(`sample source ${sampleSourceId}`)
      what = `sample source ${sampleSourceId} of ${what}`
    }
    if (window !== null) {
      query.push(['started_after', formatInstant(window.startedAfter)])
      query.push(['started_before', formatInstant(window.startedBefore)])
      parts.push(`interviews started on ${window.day}`)
    }
    const answer = await get(path, query, context, what)
    const opened = openProgress(answer, parts.length === 0 ? path : `${path} (${parts.join(', ')})`)
    const decoded = decodeAnswerRow(progressDecoder, opened.row)
    const beside = { ...answerTimes(answer, clock), drift: [...opened.drift, ...decoded.drift] }
    if (decoded.ok) return { ...beside, row: decoded.row, rejections: [] }
    const { problem, raw } = decoded
    const day = window === null ? {} : { day: window.day }
    const rejection = { endpoint, surveyId, sampleSourceId, rowId: null, ...day, problem, raw } as const
    return { ...beside, row: null, rejections: [rejection] }
  }
  return Object.freeze<SurveySource>({
    /**
     * One page of the surveys, most recently created first (endpoint 1 of the API document). Never filtered by status: a survey that
     * leaves the filter would go stale. A refusal ends the run. So a refused page is requested once more, unless `attemptsMax` is 1.
     * Throws the `StatusError` of the last refusal.
     */
    listSurveys: async ({ updatedSince, page }, context) => {
      const path = '/surveys'
      const since = updatedSince === null ? [] : [['updated_since', formatInstant(updatedSince)] as const]
      const request = () => http.getJson(path, [...since, ['page', String(page)]], context)
      const answer = await request().catch((error: unknown) => {
        if (error instanceof StatusError && attemptsMax > 1) return request()
        throw error
      })
      const list = { name: 'surveys', path, page } as const
      return pageOf(answer, clock, list, surveyDecoder, (id) => ({ surveyId: id, sampleSourceId: null }))
    },
    /** One page of the sample sources of a survey (endpoint 2). Throws `RefusedReadingError` when the API refuses it. */
    listSampleSources: async (surveyId, page, context) => {
      const path = `/surveys/${surveyId}/sample_sources`
      const answer = await get(path, [['page', String(page)]], context, `survey ${surveyId}`)
      const list = { name: 'sample_sources', path, page } as const
      return pageOf(answer, clock, list, sampleSourceDecoder, (id) => ({ surveyId, sampleSourceId: id }))
    },
    readSurveyProgress: (surveyId, context) => readProgress(surveyId, null, null, context),
    readSampleSourceProgress: (surveyId, id, context) => readProgress(surveyId, id, null, context),
    readDayProgress: readProgress,
    usage: () => http.usage(),
  })
}

const kindOf = ({ code }: StatusError): RefusalKind => {
  if (code === 'not_there') return 'not_found'
  return code === 'credentials_refused' ? 'forbidden' : 'rejected'
}
