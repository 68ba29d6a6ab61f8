/**
 * An endpoint is one declaration. Its route, the reading of its parameters, the type of its answer and its entry in the
 * OpenAPI document follow from it.
 */
import type { z } from 'zod'
import type { Shown } from '../resources/fields.js'
import type { Micros } from '../time/iso-time.js'
import type { Organization } from '../world/organization.js'
import { readQuery } from './query.js'

/** An admitted request. */
export interface ApiRequest {
  readonly organization: Organization
  /** The world's time on arrival. The whole answer describes this moment. */
  readonly at: Micros
  /** `SURVEY_ID` as it stands in the path; empty for the survey list. */
  readonly surveyId: string
  readonly query: URLSearchParams
  readonly pageSize: number
}

/** What endpoints and control routes declare alike, for the OpenAPI document. */
export interface Operation {
  /** Below `/api/v1` or `/_reference`, with the placeholder `{SURVEY_ID}`. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  /** The query parameters by name. */
  readonly query?: z.ZodObject
  /** The body of an answer 200. */
  readonly answer: z.ZodType
  /** The other statuses, each with its reason. */
  readonly refusals?: Readonly<Record<number, string>>
}

/** An endpoint of any query and answer. All are GET. */
export interface Endpoint extends Operation {
  readonly query: z.ZodObject
  /** A query to try, as it would be typed. */
  readonly exampleQuery: string
  /** The body of the answer. Throws a `Refusal`. */
  answerTo(request: ApiRequest): unknown
}

interface EndpointDeclaration<Query extends z.ZodObject, Answer extends z.ZodType>
  extends Omit<Endpoint, 'answerTo'> {
  readonly query: Query
  readonly answer: Answer
  readonly answerTo: (request: ApiRequest, query: z.output<Query>) => Shown<z.output<Answer>>
}

/** An endpoint that gets its parameters parsed, and whose answer is typed by its declaration. */
export const declareEndpoint = <Query extends z.ZodObject, Answer extends z.ZodType>(
  declaration: EndpointDeclaration<Query, Answer>,
): Endpoint => ({
  ...declaration,
  answerTo: (request) => declaration.answerTo(request, readQuery(declaration.query, request.query)),
})
