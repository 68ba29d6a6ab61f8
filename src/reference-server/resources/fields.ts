/**
 * The kinds of field in resources. TypeScript infers the type of an answer from a declaration, and the OpenAPI document
 * shows it; so each field has its meaning in the API document's words.
 */
import { z } from 'zod'

/** A whole number from 0. The API document sets no limit, so `int64` warns clients not to store it in 32 bits. */
export const wholeNumber = (description: string) => z.int().min(0).meta({ description, format: 'int64' })

/** A whole number from 0, or null. */
export const wholeNumberOrNull = (description: string) =>
  z.int().min(0).meta({ format: 'int64' }).nullable().meta({ description })

export const text = (description: string) => z.string().meta({ description })

/** API document, "Resources and their fields": ISO 8601 with an offset. */
export const moment = (description: string) => z.string().meta({ description, format: 'date-time' })

/** The type of an answer, `readonly` at every level. */
export type Shown<T> = T extends readonly (infer Item)[]
  ? readonly Shown<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Shown<T[Key]> }
    : T
