/**
 * The only function that parses with a schema and throws. zod's own error has a JSON document as its message, whose first line `[` says
 * nothing. A test keeps `schema.parse` out of `src`.
 */
import type { z } from 'zod'

/**
 * `what` names the value in the message: `a row of the result`. A value of another form is a bug: throws a `TypeError` with a message of
 * one line.
 */
export const parse = <Output>(
  schema: z.ZodType<Output>,
  value: unknown,
  what: string,
  context?: { readonly jitless: boolean },
): Output => {
  const parsed = schema.safeParse(value, context)
  if (parsed.success) return parsed.data
  const [first, ...others] = parsed.error.issues
  const where = first === undefined || first.path.length === 0 ? '' : `${first.path.map(String).join('.')}: `
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  throw new TypeError(
    `${what} has an unexpected form: ${where}${first?.message ?? 'unknown'}${more}`.replaceAll(/\s+/g, ' '),
  )
}

/** The value of a JSON text; null for a text that is not JSON, or a value of another form. */
export const parseJson = <Output>(schema: z.ZodType<Output>, text: string | Uint8Array): Output | null => {
  try {
    const json = typeof text === 'string' ? text : Buffer.from(text).toString()
    return schema.safeParse(JSON.parse(json)).data ?? null
  } catch {
    return null
  }
}
