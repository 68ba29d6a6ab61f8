/**
 * Checks answers against an OpenAPI document: it must describe the status, headers and body of each, and a body must
 * have no extra field. Ajv does it, which has no code in common with what wrote the document.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { z } from 'zod'

const responseShape = z.object({
  headers: z.record(z.string(), z.object({ $ref: z.string() })),
  content: z.record(z.string(), z.unknown()),
})
const operation = z.object({ responses: z.record(z.string(), responseShape) })
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

/** A request and its answer; `path` is the whole path, without the query. */
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

/** What is wrong with an answer, or null. */
export type Check = (exchange: Exchange) => string | null

export const checkBy = (document: object): Check => {
  const { paths, components } = documentShape.parse(document)
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true })
  addFormats.default(ajv)
  // Ajv must accept the document's own parts, which are no schemas, and refuse unknown keywords in a schema.
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
  const headerProblem = (expected: z.infer<typeof responseShape>, headers: Headers): string | null => {
    const missing = Object.entries(expected.headers).find(
      ([name, { $ref }]) => components.headers[$ref.split('/').at(-1)!]!.required && !headers.has(name),
    )
    if (missing !== undefined) return `the header ${missing[0]} is missing`
    const [described = ''] = Object.keys(expected.content)
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
    const name = METHODS.find((each) => each === method.toLowerCase() && known[each] !== undefined)
    if (name === undefined && status !== 405) return `${status} for an unknown method`
    const response = known[name ?? 'get']?.responses[status]
    if (response === undefined) return `the status ${status} is not described`
    const place = [found.template, name ?? 'get', 'responses', status, 'content', JSON_TYPE, 'schema']
    const pointer = `/paths/${place.map((part) => escapePointer(String(part))).join('/')}`
    const hasJson = method !== 'HEAD' && response.content[JSON_TYPE] !== undefined
    return headerProblem(response, headers) ?? (hasJson ? bodyProblem(pointer, json) : null)
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
