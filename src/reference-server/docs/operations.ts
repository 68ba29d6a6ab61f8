/** Writes endpoints and control routes, as they are declared, as operations of the OpenAPI document. */
import type { z } from 'zod'
import { surveyId } from '../api/parameters.js'
import { errorBody } from '../api/refusal.js'
import type { ControlOperation } from '../control/operations.js'
import type { DocumentSchemas, JsonSchema } from './schemas.js'
import type { Example } from './this-server.js'

/** What endpoints and control routes have in common. */
type Declaration = Omit<ControlOperation, 'method'>

/** The declared values whose schemas the operations show. */
export const valuesOf = (declarations: readonly Declaration[]): readonly z.ZodType[] =>
  [surveyId, ...declarations.flatMap(({ query, body, answer }) => [query, body, answer])].filter(
    (schema) => schema !== undefined,
  )

export const operationOf = (declaration: Declaration, schemas: DocumentSchemas, example?: Example) => {
  const { path, operationId, summary, description, query, body, answer, refusals = {} } = declaration
  const content = {
    schema: schemas.of(answer),
    ...(example && 'answer' in example ? { example: example.answer } : {}),
  }
  return {
    operationId,
    summary,
    description: example === undefined ? description : `${description}\n\n${exampleText(example)}`,
    parameters: [
      ...(path.includes('{SURVEY_ID}') ? [surveyIdParameter(schemas)] : []),
      ...(query === undefined ? [] : queryParameters(schemas.of(query))),
    ],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { [JSON_TYPE]: { schema: schemas.of(body) } } } }),
    responses: {
      200: {
        description: answer.meta()?.description ?? 'The answer',
        headers: headersOf('Date'),
        content: { [declaration.contentType ?? JSON_TYPE]: content },
      },
      ...Object.fromEntries(
        Object.entries(refusals).map(([status, reason]) => [
          status,
          {
            description: reason,
            headers: headersOf('Date', ...(EXTRA_HEADERS[status] ?? [])),
            content: { [JSON_TYPE]: { schema: schemas.of(errorBody) } },
          },
        ]),
      ),
    },
  }
}

const exampleText = ({ request, answer }: Example): string =>
  [
    'A request to copy:',
    `\`\`\`bash\n${request}\n\`\`\``,
    answer === undefined
      ? 'This world has no survey yet.'
      : 'The example below is the answer to it at this moment, with only the first record of each list.',
  ].join('\n\n')

const JSON_TYPE = 'application/json'

const EXTRA_HEADERS: Readonly<Record<string, readonly string[]>> = { 405: ['Allow'], 429: ['Retry-After'] }

const headersOf = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const surveyIdParameter = (schemas: DocumentSchemas) => {
  const { description, ...schema } = schemas.of(surveyId)
  return { name: 'SURVEY_ID', in: 'path', required: true, description, schema }
}

/** The properties of an object, as parameters of that name; an array is given by repeating the name. */
const queryParameters = ({ properties = {}, required = [] }: JsonSchema) =>
  Object.entries(properties).flatMap(([name, property]) => {
    if (typeof property === 'boolean') return []
    const { description, ...schema } = property
    const repeated = schema.type === 'array' ? { style: 'form', explode: true } : {}
    return [{ name, in: 'query', required: required.includes(name), description, ...repeated, schema }]
  })
