/**
 * What an endpoint is: one declaration, from which its route, the reading of its parameters, the type of its answer
 * and its entry in the OpenAPI document are made.
 */
import type { z } from 'zod'
import type { Shown } from '../resources/fields.js'
import type { Micros } from '../time/iso-time.js'
import type { Organization } from '../world/organization.js'
import { readQuery } from './query.js'

/** A request that has shown its credentials. */
export interface Asked {
  readonly organization: Organization
  /** The world's time on arrival: the whole answer is of this moment. */
  readonly at: Micros
  /** `SURVEY_ID` as it stands in the path; empty for the survey list. */
  readonly surveyId: string
  readonly query: URLSearchParams
  readonly pageSize: number
}

interface EndpointText {
  /** Below `/api/v1`, with `{SURVEY_ID}` where that stands. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  /** A query to try, as it would be typed. */
  readonly exampleQuery: string
  /** The statuses other than 200, each with when it is answered. */
  readonly refusals: Readonly<Record<number, string>>
}

/** An endpoint, whatever it is asked and answers. All are GET. */
export interface Endpoint extends EndpointText {
  /** The query parameters by name. */
  readonly query: z.ZodObject
  /** The body of an answer 200. */
  readonly answer: z.ZodType
  /** The body of the answer. Throws a `Refusal`. */
  tell(asked: Asked): unknown
}

interface EndpointDeclaration<Query extends z.ZodObject, Answer extends z.ZodType> extends EndpointText {
  readonly query: Query
  readonly answer: Answer
  readonly tell: (asked: Asked, query: z.output<Query>) => Shown<z.output<Answer>>
}

/** An endpoint whose answer is typed by its declaration, and whose parameters reach it read. */
export const declareEndpoint = <Query extends z.ZodObject, Answer extends z.ZodType>(
  declaration: EndpointDeclaration<Query, Answer>,
): Endpoint => ({
  ...declaration,
  tell: (asked) => declaration.tell(asked, readQuery(declaration.query, asked.query)),
})
