/**
 * The kinds of field that the resources are declared of. A declaration is read twice: TypeScript infers the type of
 * an answer from it, and the OpenAPI document shows it; so each field carries its meaning in the API document's words.
 */
import { z } from 'zod'

/** A whole number from 0. The API document sets no limit, so clients are told not to keep it in 32 bits. */
export const wholeNumber = (description: string) => z.int().min(0).meta({ description, format: 'int64' })

/** The same, where there may be none. */
export const wholeNumberOrNull = (description: string) =>
  z.int().min(0).meta({ format: 'int64' }).nullable().meta({ description })

export const text = (description: string) => z.string().meta({ description })

/** API document, "Resources and their fields": ISO 8601 with an offset. */
export const moment = (description: string) => z.string().meta({ description, format: 'date-time' })

/** A value that every reader of an answer, and nobody else, may look at: `readonly` all the way down. */
export type Shown<T> = T extends readonly (infer Item)[]
  ? readonly Shown<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Shown<T[Key]> }
    : T
