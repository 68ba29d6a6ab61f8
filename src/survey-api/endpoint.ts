/** What the three endpoints have in common: one GET, and what a 404 means. */
import type { Clock } from '../base/clock.js'
import type { HttpClient, JsonAnswer } from '../http/client.js'
import { NotThereError } from '../http/errors.js'
import { NotFoundError, type RequestContext } from '../model/survey-source.js'

/** What every endpoint is handed. */
export interface Connection {
  readonly http: HttpClient
  readonly clock: Clock
}

export type Query = readonly (readonly [name: string, value: string])[]

/** GETs something that belongs to one survey. Throws `NotFoundError` when `what` is gone. */
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
    if (!(error instanceof NotThereError)) throw error
    throw new NotFoundError(`${what} is not there, or no longer: GET ${path} was answered 404`, {
      cause: error,
    })
  }
}
