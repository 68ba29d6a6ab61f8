/** Declarations of endpoints and control routes as operations of the OpenAPI document. */
import type { z } from 'zod'
import type { Endpoint } from '../api/endpoint.js'
import { surveyId } from '../api/parameters.js'
import { REFUSALS } from '../api/refusal.js'
import type { ControlOperation } from '../control/operations.js'
import type { Example } from './examples.js'
import type { JsonSchema, Operation, Parameter, Response } from './openapi-types.js'
import { type DocumentSchemas, ERROR_REFERENCE } from './schemas.js'

export const API_TAG = 'API'
export const CONTROL_TAG = 'Reference server'

/** The declarations whose schemas the operations below show. */
export const declarationsOf = (
  endpoints: readonly Endpoint[],
  controls: readonly ControlOperation[],
): Readonly<Record<string, z.ZodType>> => ({
  [PATH_KEY]: surveyId,
  ...Object.fromEntries(
    [...endpoints, ...controls].flatMap((operation) => {
      const { operationId, query, answer } = operation
      const body = 'body' in operation ? operation.body : undefined
      return [
        [answerKey(operationId), answer],
        ...(query === undefined ? [] : [[queryKey(operationId), query]]),
        ...(body === undefined ? [] : [[bodyKey(operationId), body]]),
      ]
    }),
  ),
})

export const endpointOperation = (
  endpoint: Endpoint,
  schemas: DocumentSchemas,
  example: Example | undefined,
): Operation => {
  const { path, operationId, summary, description, refusals } = endpoint
  const refused = refusals.map((status): [number, Response] => [
    status,
    responseOf(REFUSALS[status], ERROR_REFERENCE, { header: EXTRA_HEADERS[status] }),
  ])
  return {
    operationId,
    tags: [API_TAG],
    summary,
    description: example === undefined ? description : `${description}\n\n${exampleText(example)}`,
    parameters: [
      ...(path.includes('{SURVEY_ID}') ? [surveyIdParameter(schemas)] : []),
      ...queryParameters(schemas.of(queryKey(operationId))),
    ],
    responses: {
      200: responseOf(descriptionOf(endpoint.answer), schemas.of(answerKey(operationId)), {
        example: example?.answer,
      }),
      ...Object.fromEntries(refused),
    },
  }
}

export const controlOperation = (control: ControlOperation, schemas: DocumentSchemas): Operation => {
  const { operationId, summary, description, query, body, answer, contentType, refusals = {} } = control
  const refused = Object.entries(refusals).map(([status, reason]) => [
    status,
    responseOf(reason, ERROR_REFERENCE),
  ])
  return {
    operationId,
    tags: [CONTROL_TAG],
    summary,
    description,
    security: [],
    parameters: query === undefined ? [] : queryParameters(schemas.of(queryKey(operationId))),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { [JSON_TYPE]: { schema: schemas.of(bodyKey(operationId)) } },
          },
        }),
    responses: {
      200: responseOf(descriptionOf(answer), schemas.of(answerKey(operationId)), { contentType }),
      ...Object.fromEntries(refused),
    },
  }
}

const exampleText = ({ request, answer }: Example): string =>
  [
    'A request to copy:',
    `\`\`\`bash\n${request}\n\`\`\``,
    answer === undefined
      ? 'This world has no survey yet.'
      : 'The example below is the answer to it at this moment, with the first record alone of each list.',
  ].join('\n\n')

const PATH_KEY = 'SURVEY_ID'
const queryKey = (operationId: string): string => `${operationId}.query`
const bodyKey = (operationId: string): string => `${operationId}.body`
const answerKey = (operationId: string): string => `${operationId}.answer`

const EXTRA_HEADERS: Readonly<Partial<Record<number, string>>> = { 405: 'Allow', 429: 'Retry-After' }

const JSON_TYPE = 'application/json'

interface ResponseExtras {
  /** A header besides `Date`. */
  readonly header?: string | undefined
  readonly contentType?: string | undefined
  readonly example?: unknown
}

const responseOf = (
  description: string,
  schema: JsonSchema,
  { header, contentType = JSON_TYPE, example }: ResponseExtras = {},
): Response => ({
  description,
  headers: Object.fromEntries(
    ['Date', ...(header === undefined ? [] : [header])].map((name) => [
      name,
      { $ref: `#/components/headers/${name}` },
    ]),
  ),
  content: { [contentType]: { schema, ...(example === undefined ? {} : { example }) } },
})

const descriptionOf = (declared: z.ZodType): string => declared.meta()?.description ?? 'The answer'

const surveyIdParameter = (schemas: DocumentSchemas): Parameter => {
  const { description = '', ...schema } = schemas.of(PATH_KEY)
  return { name: 'SURVEY_ID', in: 'path', required: true, description, schema }
}

/** The properties of an object, as parameters of that name; an array is given by repeating the name. */
const queryParameters = ({ properties = {}, required = [] }: JsonSchema): Parameter[] =>
  Object.entries(properties).flatMap(([name, property]) => {
    if (typeof property === 'boolean') return []
    const { description = '', ...schema } = property
    return [
      {
        name,
        in: 'query' as const,
        required: required.includes(name),
        description,
        ...(schema.type === 'array' ? { style: 'form', explode: true } : {}),
        schema,
      },
    ]
  })
