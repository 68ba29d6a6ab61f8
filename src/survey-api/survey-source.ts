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
  type SourceUsage,
  type SurveyListQuery,
  type SurveySource,
} from '../model/survey-source.js'
import { answerTimes, openProgress, pageOf } from './answer.js'
import { decodeAnswerRow } from './decode.js'
import { progressDecoder } from './fieldwork-progress.js'
import { sampleSourceDecoder } from './sample-source.js'
import { surveyDecoder } from './survey.js'

/** `clock` dates the answers of a server that sends no `Date`; `attemptsMax` is that of `http`. The caller closes `http`. */
export const createSurveySource = (http: HttpClient, clock: Clock, attemptsMax: number): SurveySource => {
  const source = new HttpSource(http, clock, attemptsMax)
  return Object.freeze<SurveySource>({
    listSurveys: (query, context) => source.listSurveys(query, context),
    listSampleSources: (surveyId, page, context) => source.listSampleSources(surveyId, page, context),
    readSurveyProgress: (surveyId, context) => source.readProgress(surveyId, null, null, context),
    readSampleSourceProgress: (surveyId, id, context) => source.readProgress(surveyId, id, null, context),
    readDayProgress: (surveyId, id, window, context) => source.readProgress(surveyId, id, window, context),
    usage: (): SourceUsage => http.usage(),
  })
}

type Query = readonly (readonly [name: string, value: string])[]

class HttpSource {
  readonly #http: HttpClient
  readonly #clock: Clock
  readonly #attemptsMax: number

  constructor(http: HttpClient, clock: Clock, attemptsMax: number) {
    this.#http = http
    this.#clock = clock
    this.#attemptsMax = attemptsMax
  }

  /**
   * One page of the surveys, most recently created first (endpoint 1 of the API document). Never filtered by status: a survey that
   * leaves the filter would go stale. A refusal ends the run. So a refused page is requested once more, unless `attemptsMax` is 1.
   * Throws the `StatusError` of the last refusal.
   */
  async listSurveys({ updatedSince, page }: SurveyListQuery, context: RequestContext): Promise<Page<Survey>> {
    const path = '/surveys'
    const since = updatedSince === null ? [] : [['updated_since', formatInstant(updatedSince)] as const]
    const query: Query = [...since, ['page', String(page)]]
    const request = (): Promise<JsonAnswer> => this.#http.getJson(path, query, context)
    const answer = await request().catch((error: unknown) => {
      if (error instanceof StatusError && this.#attemptsMax > 1) return request()
      throw error
    })
    const list = { name: 'surveys', path, page } as const
    return pageOf(answer, this.#clock, list, surveyDecoder, (id) => ({ surveyId: id, sampleSourceId: null }))
  }

  /** One page of the sample sources of a survey (endpoint 2). Throws `RefusedReadingError` when the API refuses it. */
  async listSampleSources(
    surveyId: number,
    page: number,
    context: RequestContext,
  ): Promise<Page<SampleSource>> {
    const path = `/surveys/${surveyId}/sample_sources`
    const answer = await this.#get(path, [['page', String(page)]], context, `survey ${surveyId}`)
    const list = { name: 'sample_sources', path, page } as const
    const ids = (sampleSourceId: number | null) => ({ surveyId, sampleSourceId })
    return pageOf(answer, this.#clock, list, sampleSourceDecoder, ids)
  }

  /**
   * The current indicators of all interviews, or of those that started in `window` (endpoint 3). The bounds of a window are sent to
   * the microsecond. `sampleSourceId` null reads the whole survey. Throws `RefusedReadingError` when the API refuses it.
   */
  async readProgress(
    surveyId: number,
    sampleSourceId: number | null,
    window: DayWindow | null,
    context: RequestContext,
  ): Promise<Reading<Progress>> {
    const path = `/surveys/${surveyId}/fieldwork_progress`
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
    const answer = await this.#get(path, query, context, what)
    const opened = openProgress(answer, parts.length === 0 ? path : `${path} (${parts.join(', ')})`)
    const decoded = decodeAnswerRow(progressDecoder, opened.row)
    const drift = [...opened.drift, ...decoded.drift]
    const beside = { ...answerTimes(answer, this.#clock), drift }
    if (decoded.ok) return { ...beside, row: decoded.row, rejections: [] }
    const { problem, raw } = decoded
    const day = window === null ? {} : { day: window.day }
    const endpoint = 'fieldwork_progress'
    return {
      ...beside,
      row: null,
      rejections: [{ endpoint, surveyId, sampleSourceId, rowId: null, ...day, problem, raw }],
    }
  }

  /** GETs a resource of one survey. Throws `RefusedReadingError` when the API refuses `what`. */
  async #get(path: string, query: Query, context: RequestContext, what: string): Promise<JsonAnswer> {
    try {
      return await this.#http.getJson(path, query, context)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      const kind = kindOf(error)
      const problem =
        kind === 'forbidden' ? `GET ${path} returned ${error.status} for this id and token` : error.message
      throw new RefusedReadingError(kind, `${what} cannot be read: ${problem}`, { cause: error })
    }
  }
}

const kindOf = ({ code }: StatusError): RefusalKind => {
  if (code === 'not_there') return 'not_found'
  return code === 'credentials_refused' ? 'forbidden' : 'rejected'
}
