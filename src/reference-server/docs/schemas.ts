/** The declarations as JSON Schema. Each named one is written once, and others refer to it by its name. */
import { z } from 'zod'
import { fieldworkProgressAnswer, sampleSourceList, surveyList } from '../api/endpoints.js'
import { errorBody } from '../api/refusal.js'
import {
  accountTruth,
  changeList,
  requestList,
  surveyTruth,
  truth,
  worldChange,
  worldTime,
} from '../control/answers.js'
import { loggedRequest } from '../request-log.js'
import { provider, surveyStatus, transitionStyle } from '../resources/enumerations.js'
import { fieldworkProgress, interviewCountByStatus, statusCount } from '../resources/fieldwork-progress.js'
import { pagination } from '../resources/pagination.js'
import { sampleSource } from '../resources/sample-source.js'
import { survey } from '../resources/survey.js'

/** JSON Schema, draft 2020-12: the dialect of OpenAPI 3.1. */
export type JsonSchema = z.core.JSONSchema.BaseSchema

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

export interface DocumentSchemas {
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
