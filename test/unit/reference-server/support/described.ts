/**
 * Holds answers to an OpenAPI document: the status, headers and body of each must be among those that it describes,
 * and a body must have no field more. By Ajv, which shares nothing with what wrote the document.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { z } from 'zod'

const response = z.object({
  headers: z.record(z.string(), z.object({ $ref: z.string() })),
  content: z.record(z.string(), z.unknown()),
})
const operation = z.object({ responses: z.record(z.string(), response) })
const documentShape = z.object({
  paths: z.record(
    z.string(),
    z.object({
      get: operation.optional(),
      post: operation.optional(),
      put: operation.optional(),
      delete: operation.optional(),
    }),
  ),
  components: z.object({ headers: z.record(z.string(), z.object({ required: z.boolean() })) }),
})

/** An answer, and what it answers: `path` is the whole path, without the query. */
export interface Exchange {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly headers: Headers
  readonly json: unknown
}

const API_PREFIX = '/api/v1'
const ERROR = '/components/schemas/Error'
const JSON_TYPE = 'application/json'
const METHODS = ['get', 'post', 'put', 'delete'] as const

/** What is wrong with an answer by this document; null when nothing is. */
export type Check = (exchange: Exchange) => string | null

export const checkBy = (document: object): Check => {
  const { paths, components } = documentShape.parse(document)
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true })
  addFormats.default(ajv)
  // The document's own parts are no schemas; everything in a schema must be known.
  ajv.addVocabulary([...Object.keys(document), 'x-enumDescriptions'])
  ajv.addSchema(document, 'openapi.json')
  const compiled = new Map<string, ValidateFunction>()
  const bodyProblem = (pointer: string, json: unknown): string | null => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi.json#${pointer}` })
    compiled.set(pointer, validate)
    return validate(json) ? null : ajv.errorsText(validate.errors, { dataVar: 'body' })
  }
  const templates = Object.keys(paths).map((template) => ({
    template,
    form: new RegExp(`^${whole(template).replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  const headerProblem = (told: z.infer<typeof response>, headers: Headers): string | null => {
    const missing = Object.entries(told.headers).find(
      ([name, { $ref }]) => components.headers[$ref.split('/').at(-1)!]!.required && !headers.has(name),
    )
    if (missing !== undefined) return `the header ${missing[0]} is missing`
    const [described = ''] = Object.keys(told.content)
    return headers.get('content-type') === `${described}; charset=utf-8`
      ? null
      : `the content is not ${described}`
  }
  return ({ method, path, status, headers, json }) => {
    const found = templates.find(({ form }) => form.test(path))
    if (found === undefined) {
      const expected = isDecodable(path) ? 404 : 400
      return status === expected ? bodyProblem(ERROR, json) : `${status} for an unknown path`
    }
    const known = paths[found.template]!
    const asked = METHODS.find((name) => name === method.toLowerCase() && known[name] !== undefined)
    if (asked === undefined && status !== 405) return `${status} for an unknown method`
    const told = known[asked ?? 'get']?.responses[status]
    if (told === undefined) return `the status ${status} is not described`
    const place = [found.template, asked ?? 'get', 'responses', status, 'content', JSON_TYPE, 'schema']
    const pointer = `/paths/${place.map((part) => escapePointer(String(part))).join('/')}`
    const hasJson = method !== 'HEAD' && told.content[JSON_TYPE] !== undefined
    return headerProblem(told, headers) ?? (hasJson ? bodyProblem(pointer, json) : null)
  }
}

const isDecodable = (path: string): boolean => {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

const whole = (template: string): string =>
  template.startsWith('/_reference') ? template : `${API_PREFIX}${template}`

const escapePointer = (name: string): string =>
  encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
