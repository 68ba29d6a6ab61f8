/** The declarations as JSON Schema: each named one once, wherever others use it by its name. */
import { z } from 'zod'
import { fieldworkProgressAnswer, sampleSourceList, surveyList } from '../api/endpoints.js'
import { errorBody } from '../api/refusal.js'
import {
  accountTruth,
  changeList,
  loggedRequest,
  requestList,
  surveyTruth,
  truth,
  worldChange,
  worldTime,
} from '../control/answers.js'
import { provider, surveyStatus, transitionStyle } from '../resources/enumerations.js'
import { fieldworkProgress, interviewCountByStatus, statusCount } from '../resources/fieldwork-progress.js'
import { pagination } from '../resources/pagination.js'
import { sampleSource } from '../resources/sample-source.js'
import { survey } from '../resources/survey.js'
import type { JsonSchema } from './openapi-types.js'

/** By the names that they have in the document; in the order in which people read them. */
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

/** The body of every error. */
export const ERROR_REFERENCE: JsonSchema = { $ref: '#/components/schemas/Error' }

export interface DocumentSchemas {
  /** The named ones, for `components`. */
  readonly named: Readonly<Record<string, JsonSchema>>
  /** The schema of a declaration, by the key it was given under: a reference where it is a named one. */
  of(key: string): JsonSchema
}

/** What goes over the wire, by each of `declared` and by the named declarations that they refer to. */
export const documentSchemas = (declared: Readonly<Record<string, z.ZodType>>): DocumentSchemas => {
  const names = new Map(Object.entries(NAMED).map(([name, schema]) => [schema, name]))
  const own = Object.entries(declared).filter(([, schema]) => !names.has(schema))
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of [...Object.entries(NAMED), ...own]) registry.add(schema, { id })
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    uri: reference,
    override: ({ zodSchema, jsonSchema }) => {
      // Examples here are of what goes in, which zod cannot know.
      const examples = z.globalRegistry.get(zodSchema)?.examples
      if (Array.isArray(examples)) jsonSchema.examples = examples
      // What JavaScript can hold is no rule of the API.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  const bare = Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _id, ...schema }]) => [name, schema]),
  )
  return {
    named: Object.fromEntries(Object.keys(NAMED).map((name) => [name, bare[name] ?? {}])),
    of: (key) => {
      const schema = declared[key]
      const name = schema === undefined ? undefined : names.get(schema)
      return name === undefined ? (bare[key] ?? {}) : { $ref: reference(name) }
    },
  }
}

/** How another schema refers to the one of this name. */
const reference = (name: string): string => `#/components/schemas/${name}`
