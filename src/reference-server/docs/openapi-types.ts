/** As much of OpenAPI 3.1 as the document uses: what writes it and what reads it agree on these shapes. */
import type { z } from 'zod'

/** JSON Schema, draft 2020-12: the dialect of OpenAPI 3.1. */
export type JsonSchema = z.core.JSONSchema.BaseSchema

interface Reference {
  readonly $ref: string
}

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'path'
  readonly required: boolean
  readonly description: string
  readonly style?: string
  readonly explode?: boolean
  readonly schema: JsonSchema
}

interface Header {
  readonly description: string
  readonly required: boolean
  readonly schema: JsonSchema
}

interface MediaType {
  readonly schema: JsonSchema
  readonly example?: unknown
}

export interface Response {
  readonly description: string
  readonly headers: Readonly<Record<string, Reference>>
  readonly content: Readonly<Record<string, MediaType>>
}

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: {
    readonly required: true
    readonly content: Readonly<Record<string, MediaType>>
  }
  readonly responses: Readonly<Record<string, Response>>
}

interface Server {
  readonly url: string
  readonly description?: string
}

type Method = 'get' | 'post' | 'put' | 'delete'

export type PathItem = Readonly<Partial<Record<Method, Operation>>> & {
  readonly servers?: readonly Server[]
}

interface SecurityScheme {
  readonly type: 'apiKey'
  readonly in: 'header'
  readonly name: string
  readonly description: string
}

export interface OpenApiDocument {
  readonly openapi: '3.1.1'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly Server[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly headers: Readonly<Record<string, Header>>
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  }
}
