import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, describe, expect, test } from 'vitest'
import { packageVersion } from '../../../src/base/version.js'
import {
  type DocumentedField,
  type DocumentedFields,
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  PAGINATION,
  SAMPLE_SOURCE,
  STATUS_ENTRY,
  SURVEY,
} from '../../support/api/api-document.js'
import { asObject, asObjects, type JsonObject } from '../../support/api/reference-api.js'
import { startApi } from './support/api.js'

let document: JsonObject

beforeAll(async () => {
  await using api = await startApi({ surveys: 1 })
  document = asObject((await api.control('/openapi.json')).json)
})

/** The part of the document at this place; references are followed. */
const at = (...place: readonly string[]): JsonObject => {
  const part = place.reduce<unknown>((whole, name) => resolved(whole)[name], document)
  return resolved(part)
}

const resolved = (part: unknown): JsonObject => {
  const { $ref, ...rest } = asObject(part)
  if (typeof $ref !== 'string') return rest
  return { ...at(...$ref.slice('#/'.length).split('/')), ...rest }
}

const schema = (name: string): JsonObject => at('components', 'schemas', name)
const operation = (path: string): JsonObject => at('paths', path, 'get')

/** The types that a schema allows. */
const typesOf = (part: unknown): readonly unknown[] => {
  const { type, anyOf } = resolved(part)
  return anyOf === undefined ? [type].flat() : asObjects(anyOf).flatMap(typesOf)
}
const TYPES = {
  integer: 'integer',
  string: 'string',
  timestamp: 'string',
  boolean: 'boolean',
  float: 'number',
  object: 'object',
} as const
const documentedTypes = ({ type, nullable }: DocumentedField) => [
  TYPES[type],
  ...(nullable === true ? ['null'] : []),
]

describe('GET /_reference/openapi.json', () => {
  test('is valid OpenAPI 3.1, by an independent validator', async () => {
    const validator = new Validator()
    expect(await validator.validate(structuredClone(document))).toEqual({ valid: true })
    expect([validator.version, document.openapi]).toEqual(['3.1', '3.1.1'])
    const broken = { ...document, paths: { '/surveys': { get: { responses: 1 } } } }
    expect(await new Validator().validate(broken)).toMatchObject({ valid: false })
  })

  test('names the version of the package, and the server by the address of the request', async () => {
    await using api = await startApi({ surveys: 1 })
    expect(document.info).toMatchObject({ version: packageVersion() })
    const served = asObject((await api.control('/openapi.json')).json)
    expect(served.servers).toEqual([{ url: api.server.baseUrl }])
    const byName = api.server.origin.replace('127.0.0.1', 'localhost')
    const named = await api.fetchText(`${byName}/_reference/openapi.json`)
    expect(named.json).toMatchObject({
      servers: [{ url: `${byName}/api/v1` }],
      paths: { '/_reference/time': { servers: [{ url: byName }] } },
    })
  })

  test('has the same paths and schemas for every world and every option', async () => {
    await using api = await startApi({ surveys: 9, seed: 3, pageSize: 2, retryAfter: 'none', accounts: 2 })
    const { paths, components } = asObject((await api.control('/openapi.json')).json)
    expect(components).toEqual(document.components)
    expect(Object.keys(asObject(paths))).toEqual(Object.keys(at('paths')))
  })
})

describe('API document, "Endpoints": the OpenAPI document', () => {
  const PARAMETERS = {
    '/surveys': ['status', 'status[]', 'updated_since', 'page'],
    '/surveys/{SURVEY_ID}/sample_sources': ['SURVEY_ID', 'page'],
    '/surveys/{SURVEY_ID}/fieldwork_progress': [
      'SURVEY_ID',
      'sample_source_id',
      'started_after',
      'started_before',
    ],
  }
  const parametersOf = (path: string) => asObjects(operation(path).parameters)
  const parameter = (path: string, name: string) =>
    parametersOf(path).find((candidate) => candidate.name === name)!

  test('has the three paths, each with GET only', () => {
    const paths = Object.entries(at('paths')).filter(([path]) => !path.startsWith('/_reference/'))
    expect(paths.map(([path, item]) => [path, Object.keys(asObject(item))])).toEqual(
      Object.keys(PARAMETERS).map((path) => [path, ['get']]),
    )
  })

  test.each(Object.entries(PARAMETERS))('%s has its parameters, in their order', (path, names) => {
    expect(parametersOf(path).map(({ name }) => name)).toEqual(names)
    for (const { name, in: place, required, description } of parametersOf(path)) {
      expect([name, place, required]).toEqual([
        name,
        name === 'SURVEY_ID' ? 'path' : 'query',
        name === 'SURVEY_ID',
      ])
      expect(description).toMatch(/^\w.{10}/)
    }
  })

  test('parameters have the documented types, and status[] is repeated', () => {
    expect(resolved(parameter('/surveys', 'status').schema)).toMatchObject({
      type: 'string',
      enum: SURVEY.status!.values,
    })
    const several = parameter('/surveys', 'status[]')
    expect(several).toMatchObject({ style: 'form', explode: true, schema: { type: 'array' } })
    expect(resolved(asObject(several.schema).items)).toMatchObject({ enum: SURVEY.status!.values })
    expect(parameter('/surveys', 'page').schema).toMatchObject({ type: 'integer', minimum: 1 })
    const [, , progress = ''] = Object.keys(PARAMETERS)
    for (const name of ['SURVEY_ID', 'sample_source_id']) {
      expect(parameter(progress, name).schema).toMatchObject({ type: 'integer', format: 'int64' })
    }
    for (const [path, name] of [
      ['/surveys', 'updated_since'],
      [progress, 'started_after'],
      [progress, 'started_before'],
    ] as const) {
      expect(parameter(path, name).schema).toMatchObject({ type: 'string', format: 'date-time' })
    }
  })

  test('"Authentication": each request needs both headers', () => {
    expect(document.security).toEqual([{ 'Authorization-ID': [], 'Authorization-Token': [] }])
    for (const name of ['Authorization-ID', 'Authorization-Token']) {
      expect(at('components', 'securitySchemes', name)).toMatchObject({ type: 'apiKey', in: 'header', name })
    }
    for (const path of Object.keys(PARAMETERS)) expect(operation(path)).not.toHaveProperty('security')
  })

  test('"Errors": has each status with the error body, and 429 with Retry-After', () => {
    for (const path of Object.keys(PARAMETERS)) {
      const responses = asObject(operation(path).responses)
      const unknown = path === '/surveys' ? [] : ['404']
      expect(Object.keys(responses)).toEqual(['200', '400', '401', ...unknown, '405', '429'])
      for (const [status, response] of Object.entries(responses)) {
        const { headers, content } = asObject(response)
        expect(asObject(headers)).toHaveProperty('Date')
        const body = resolved(asObject(asObject(content)['application/json']).schema)
        if (status !== '200') expect(Object.keys(asObject(body.properties))).toEqual(['error'])
      }
      expect(responses['429']).toHaveProperty(['headers', 'Retry-After'])
    }
  })
})

describe('API document, "Resources and their fields": the OpenAPI document', () => {
  const SCHEMAS: readonly (readonly [string, DocumentedFields])[] = [
    ['Survey', SURVEY],
    ['SampleSource', SAMPLE_SOURCE],
    ['FieldworkProgress', FIELDWORK_PROGRESS],
    ['StatusCount', STATUS_ENTRY],
    ['Pagination', PAGINATION],
  ]

  test.each(SCHEMAS)('%s has the documented fields, and no other', (name, fields) => {
    const { properties, required, additionalProperties } = schema(name)
    expect(Object.keys(asObject(properties))).toEqual(Object.keys(fields))
    expect(additionalProperties).toBe(false)
    // A rate over zero interviews may be left out; every other field is always there.
    const mayBeLeftOut = ([, field]: readonly [string, DocumentedField]) =>
      name === 'FieldworkProgress' && field.nullable === true
    const always = Object.entries(fields).filter((field) => !mayBeLeftOut(field))
    expect(required).toEqual(always.map(([field]) => field))
  })

  const FIELDS = SCHEMAS.flatMap(([name, fields]) =>
    Object.entries(fields).map(
      ([field, documented]) => [`${name}.${field}`, name, field, documented] as const,
    ),
  )

  test.each(FIELDS)('%s has its type and values, and a meaning', (_, name, field, documented) => {
    const described = resolved(asObject(schema(name).properties)[field])
    expect(typesOf(described)).toEqual(documentedTypes(documented))
    expect(described.enum).toEqual(documented.values)
    expect(described.description).toMatch(/^\w.{4}/)
    if (documented.type === 'timestamp') expect(described.format).toBe('date-time')
    if (documented.type === 'integer') expect(JSON.stringify(described)).toContain('"format":"int64"')
    expect(described.deprecated).toBe(field === 'incidence_rate' ? true : undefined)
  })

  test('"Interview status": interview_count_by_status has one entry each, all required', () => {
    const { properties, required } = schema('InterviewCountByStatus')
    expect(Object.keys(asObject(properties))).toEqual(INTERVIEW_STATUSES)
    expect(required).toEqual(INTERVIEW_STATUSES)
  })

  test('every value of an enumeration that the document explains has its meaning', () => {
    for (const [name, { values = [] }] of [
      ['SurveyStatus', SURVEY.status!],
      ['TransitionStyle', SURVEY.transition_style!],
    ] as const) {
      expect(Object.keys(asObject(schema(name)['x-enumDescriptions']))).toEqual(values)
    }
  })
})
