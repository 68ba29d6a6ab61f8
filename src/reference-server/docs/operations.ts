/**
 * Writes endpoints and control routes, as they are declared, as operations of the OpenAPI document, and their values as JSON
 * Schema. Each named one is written once, and others refer to it by its name.
 */
import { z } from 'zod'
import { errorBody } from '../answer.js'
import {
  fieldworkProgressAnswer,
  pagination,
  sampleSourceList,
  surveyId,
  surveyList,
} from '../api/endpoints.js'
import {
  accountTruth,
  type ControlOperation,
  changeList,
  requestList,
  surveyTruth,
  truth,
  worldChange,
  worldTime,
} from '../control/operations.js'
import { loggedRequest } from '../request-log.js'
import {
  fieldworkProgress,
  interviewCountByStatus,
  provider,
  sampleSource,
  statusCount,
  survey,
  surveyStatus,
  transitionStyle,
} from '../resources.js'
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

/** JSON Schema, draft 2020-12: the dialect of OpenAPI 3.1. */
type JsonSchema = z.core.JSONSchema.BaseSchema

/** By their names in the document, in the order in which people read them. */
const NAMED: Readonly<Record<string, z.ZodType>> = {
  SurveyList: surveyList,
  Survey: survey,
  SampleSourceList: sampleSourceList,
  SampleSource: sampleSource,
  FieldworkProgressAnswer: fieldworkProgressAnswer,
  FieldworkProgress: fieldworkProgress,
  InterviewCountByStatus: interviewCountByStatus,
  StatusCount: statusCount,
  Pagination: pagination,
  SurveyStatus: surveyStatus,
  TransitionStyle: transitionStyle,
  Provider: provider,
  Error: errorBody,
  WorldTime: worldTime,
  RequestList: requestList,
  LoggedRequest: loggedRequest,
  Truth: truth,
  AccountTruth: accountTruth,
  SurveyTruth: surveyTruth,
  ChangeList: changeList,
  WorldChange: worldChange,
}

interface DocumentSchemas {
  /** The named ones, for `components`. */
  readonly named: Readonly<Record<string, JsonSchema>>
  /** The schema of a declared value: a reference where it is a named one. */
  of(declared: z.ZodType): JsonSchema
}

/** The schemas of `declared` as they are sent, and of the named declarations that they refer to. */
export const documentSchemas = (declared: readonly z.ZodType[]): DocumentSchemas => {
  const ids = new Map(declared.map((schema, place) => [schema, String(place)]))
  for (const [name, schema] of Object.entries(NAMED)) ids.set(schema, name)
  const registry = z.registry<{ id: string }>()
  for (const [schema, id] of ids) registry.add(schema, { id })
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    uri: reference,
    override: ({ zodSchema, jsonSchema }) => {
      // zod leaves out examples for input, because it expects them to be of the output.
      const examples = z.globalRegistry.get(zodSchema)?.examples
      if (Array.isArray(examples)) jsonSchema.examples = examples
      // The largest number of JavaScript is no rule of the API.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  const bare = (id: string): JsonSchema => {
    const { $schema: _dialect, $id: _id, ...schema } = schemas[id] ?? {}
    return schema
  }
  return {
    named: Object.fromEntries(Object.keys(NAMED).map((name) => [name, bare(name)])),
    of: (schema) => {
      const id = ids.get(schema) ?? ''
      return id in NAMED ? { $ref: reference(id) } : bare(id)
    },
  }
}

/** How another schema refers to the one of this name. */
const reference = (name: string): string => `#/components/schemas/${name}`
