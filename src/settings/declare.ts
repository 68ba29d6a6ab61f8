/**
 * How a setting is declared: a reader, and for the reference what may be written and what it means. A setting that has no
 * meaning of its own here cannot stand in the settings file: only the environment or a flag gives it.
 */
import { z } from 'zod'
import { durationFrom, type Reader, readBoolean, wholeNumberFrom } from './readers.js'

/**
 * A setting of the file, for the reference with what may be written; `describe` adds its meaning, `prefault` a default as it
 * would be written.
 */
export const setting = <T>(valueType: string, read: Reader<T>) => notInFile(read).meta({ valueType })

/** A setting that only environment and flags give. */
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

/** Keys that belong together; all of them have their defaults where the whole is left out, by `prefault({})`. */
export const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.object(shape, { error: 'must hold keys of its own, each on a line of its own' })

/** What is null where it is left out. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) =>
  schema.optional().transform((value) => value ?? null)
