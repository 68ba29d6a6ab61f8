/**
 * An operation is one declaration, from which its route, the reading of its parameters, the type of its answer and its entry in the
 * OpenAPI document follow.
 */
import { z } from 'zod'
import { Refusal } from '../answer.js'
import type { DeepReadonly } from '../resources.js'
import { type Micros, parseIsoTime } from '../time.js'
import type { Organization } from '../world/organization.js'

export const API_PREFIX = '/api/v1'
const QUOTED_CHARACTERS_MAX = 100

/** An admitted request. */
export interface ApiRequest {
  readonly organization: Organization
  /** The world's time on arrival. The whole answer describes this moment. */
  readonly at: Micros
  /** `SURVEY_ID` as in the path; empty for the survey list. */
  readonly surveyId: string
  readonly query: URLSearchParams
  readonly pageSize: number
}

/** The declarations that endpoints and control routes share, for the OpenAPI document. */
export interface Operation {
  /** Below `/api/v1` or `/_reference`, with the placeholder `{SURVEY_ID}`. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  readonly answer: z.ZodType
  /** The other statuses, each with its reason. */
  readonly refusals?: Readonly<Record<number, string>>
}

/** An endpoint of the API. All endpoints are GET. */
export interface Endpoint extends Operation {
  readonly query: z.ZodObject
  /** A query to try, as a person would type it. */
  readonly exampleQuery: string
  /** The body of the answer. Throws a `Refusal`. */
  answerTo(request: ApiRequest): unknown
}

interface EndpointDeclaration<Query extends z.ZodObject, Answer extends z.ZodType>
  extends Omit<Endpoint, 'answerTo'> {
  readonly query: Query
  readonly answer: Answer
  readonly answerTo: (request: ApiRequest, query: z.output<Query>) => DeepReadonly<z.output<Answer>>
}

/** An endpoint whose parameters are parsed, and whose answer is typed, by its declaration. */
export const declareEndpoint = <Query extends z.ZodObject, Answer extends z.ZodType>(
  declaration: EndpointDeclaration<Query, Answer>,
): Endpoint => ({
  ...declaration,
  answerTo: (request) => declaration.answerTo(request, readQuery(declaration.query, request.query)),
})

/**
 * The values of `query`, parsed by `declared`. A name that ends in `[]` may be given several times; names that are not declared are
 * ignored. An invalid value is refused with 400, so that a client never gets the answer to a request that it did not mean.
 */
export const readQuery = <Query extends z.ZodObject>(
  declared: Query,
  query: URLSearchParams,
): z.output<Query> => {
  const texts = Object.fromEntries(Object.keys(declared.shape).map((name) => [name, textsOf(query, name)]))
  const result = declared.safeParse(texts)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const [name = '', index = 0] = issue?.path ?? []
  const text = [texts[String(name)]].flat()[Number(index)]
  const shown = text === undefined ? 'missing' : JSON.stringify(text.slice(0, QUOTED_CHARACTERS_MAX))
  throw new Refusal(400, `${String(name).replace('[]', '')} is ${shown}: ${issue?.message}`)
}

const textsOf = (query: URLSearchParams, name: string): string | readonly string[] | undefined => {
  const texts = query.getAll(name)
  if (isList(name)) return texts.length === 0 ? undefined : texts
  if (texts.length <= 1) return texts[0]
  const hint = name === 'status' ? '; several statuses are given as status[]' : ''
  throw new Refusal(400, `${name} is given ${texts.length} times: give it once${hint}`)
}

const isList = (name: string): boolean => name.endsWith('[]')

const GIVE_MOMENT = 'give an ISO 8601 date-time with an offset, like 2026-03-01T00:00:00Z'

/** An ISO 8601 date-time with an offset, as microseconds. */
export const momentParameter = (description: string) =>
  z
    .string({ error: GIVE_MOMENT })
    .meta({ format: 'date-time' })
    .transform((text, context) => {
      const at = parseIsoTime(text)
      if (at !== null) return at
      const hint = text.includes(' ') ? '; a plus sign is written %2B in a query' : ''
      context.addIssue({ code: 'custom', message: `${GIVE_MOMENT}${hint}` })
      return z.NEVER
    })
    .meta({ description })
