/** One GET for the endpoints of a survey, and the meaning of a refusal. */
import type { Clock } from '../base/clock.js'
import type { HttpClient, JsonAnswer } from '../http/client.js'
import { StatusError } from '../http/errors.js'
import { type RefusalKind, RefusedReadingError, type RequestContext } from '../model/survey-source.js'

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
