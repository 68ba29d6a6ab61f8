/**
 * Functions that declare a setting: a reader, and for the reference its type and meaning. A setting without a meaning is not in
 * the settings file; only the environment or a flag can give it.
 */
import { z } from 'zod'
import { durationFrom, type Reader, readBoolean, wholeNumberFrom } from './readers.js'

/**
 * A setting of the file. `valueType` is its type in the reference; `describe` adds its meaning, and `prefault` a default as the
 * file would write it.
 */
export const setting = <T>(valueType: string, read: Reader<T>) => notInFile(read).meta({ valueType })

/** A setting that only environment and flags can give. */
export const notInFile = <T>(read: Reader<T>) =>
  z.unknown().transform((value, context): T => {
    const outcome = read(value)
    if (outcome.ok) return outcome.value
    context.issues.push({ code: 'custom', message: outcome.problem, input: value })
    return z.NEVER
  })

export const duration = (byDefault: string, min: string, max: string) =>
  setting(`duration, ${min} to ${max}`, durationFrom(min, max)).prefault(byDefault)

export const wholeNumber = (byDefault: number, min: number, max: number) =>
  setting(`whole number, ${min} to ${max}`, wholeNumberFrom(min, max)).prefault(byDefault)

export const yesOrNo = (byDefault: boolean) => setting('true or false', readBoolean).prefault(byDefault)

/** Keys that belong together. With `prefault({})`, an absent section gets the defaults of all its keys. */
export const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.object(shape, { error: 'must be a section with its own keys, one per line' })

/** A setting that is null if it is absent. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) =>
  schema.optional().transform((value) => value ?? null)
