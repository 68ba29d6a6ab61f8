/** The port `SurveySource` over HTTP. All requests of a run start here (API document, "Endpoints"). */
import type { RequestContext } from '../base/allowance.js'
import type { Clock } from '../base/clock.js'
import type { HttpClient, JsonAnswer } from '../http/client.js'
import { StatusError } from '../http/errors.js'
import { formatInstant } from '../model/instant.js'
import { type RefusalKind, RefusedReadingError, type SurveySource } from '../model/survey-source.js'
import { pageOf, progressOf } from './envelope.js'
import { sampleSourceDecoder, surveyDecoder } from './resources.js'

type Query = readonly (readonly [name: string, value: string])[]

/** The list of surveys, below the base URL. If the API answers at all, it answers this path. */
export const LIST_PATH = '/surveys'

/** `clock` dates the answers of a server that sends no `Date`; `attemptsMax` is the limit of `http`. The caller closes `http`. */
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
  /** The answer as `open` opens it. An answer that cannot be opened is not kept. */
  const getOrKept = async <Opened>(
    path: string,
    query: Query,
    { what, use, ...context }: RequestContext & { readonly what: string; readonly use: 'once' | 'always' },
    open: (answer: JsonAnswer) => Opened,
  ): Promise<Opened> => {
    const request = `${path}?${query.map((part) => part.join('=')).join('&')}`
    const kept = context.kept?.answerOf(request, use) ?? null
    if (kept !== null) return open({ ...kept, body: JSON.parse(kept.text) })
    const answer = await get(path, query, context, what)
    const opened = open(answer)
    const { text, dateMs } = answer
    await context.kept?.add(request, { text, dateMs: dateMs ?? clock.nowMs() })
    return opened
  }
  return Object.freeze<SurveySource>({
    /**
     * One page of the surveys, most recently created first (endpoint 1 of the API document). Never filtered by status, because a survey
     * that leaves the filter would go stale. A refusal ends the run, so a refused page is requested once more, unless `attemptsMax` is 1.
     * Throws the `StatusError` of the last refusal.
     */
    listSurveys: async ({ updatedSince, page }, context) => {
      const path = LIST_PATH
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
      const list = { name: 'sample_sources', path, page } as const
      const how = { ...context, what: `survey ${surveyId}`, use: 'once' } as const
      return await getOrKept(path, [['page', String(page)]], how, (answer) =>
        pageOf(answer, clock, list, sampleSourceDecoder, (id) => ({ surveyId, sampleSourceId: id })),
      )
    },
    /** The current indicators (endpoint 3). The bounds of a window are sent to the microsecond. */
    readProgress: async ({ surveyId, sampleSourceId, window }, context) => {
      const path = `/surveys/${surveyId}/fieldwork_progress`
      const query: [string, string][] = []
      const parts: string[] = []
      let what = `survey ${surveyId}`
      if (sampleSourceId !== null) {
        query.push(['sample_source_id', String(sampleSourceId)])
        parts.push(`sample source ${sampleSourceId}`)
        what = `sample source ${sampleSourceId} of ${what}`
      }
      if (window !== undefined) {
        const { startedAfter, startedBefore, day } = window
        if (startedAfter !== null) query.push(['started_after', formatInstant(startedAfter)])
        query.push(['started_before', formatInstant(startedBefore)])
        parts.push(
          `interviews started ${startedAfter === null ? `by ${formatInstant(startedBefore)}` : `on ${day}`}`,
        )
      }
      const where = parts.length === 0 ? path : `${path} (${parts.join(', ')})`
      const of = { surveyId, sampleSourceId, ...(window !== undefined && { day: window.day }) }
      return await getOrKept(path, query, { ...context, what, use: 'always' }, (answer) =>
        progressOf(answer, clock, where, of),
      )
    },
    usage: () => http.usage(),
  })
}

const kindOf = ({ code }: StatusError): RefusalKind => {
  if (code === 'not_there') return 'not_found'
  return code === 'credentials_refused' ? 'forbidden' : 'rejected'
}
