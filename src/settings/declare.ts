/**
 * How a setting is declared: a reader, and for the reference what may be written and what it means. A setting that has no
 * meaning of its own here cannot stand in the settings file: only the environment or a flag gives it.
 */
import { z } from 'zod'
import { durationFrom, oneOf, type Reader, readBoolean, wholeNumberFrom } from './readers.js'

/** A setting of the file. `valueType` and `meaning` are what the reference says about it. */
export const setting = <T>(valueType: string, read: Reader<T>, meaning: string) =>
  notInFile(read).meta({ valueType, description: meaning })

/** A setting that only environment and flags give. */
export const notInFile = <T>(read: Reader<T>) =>
  z.unknown().transform((value, context): T => {
    const outcome = read(value)
    if (outcome.ok) return outcome.value
    context.issues.push({ code: 'custom', message: outcome.problem, input: value })
    return z.NEVER
  })

export const duration = (min: string, max: string, meaning: string) =>
  setting(`duration, ${min} to ${max}`, durationFrom(min, max), meaning)

export const wholeNumber = (min: number, max: number, meaning: string) =>
  setting(`whole number, ${min} to ${max}`, wholeNumberFrom(min, max), meaning)

export const yesOrNo = (meaning: string) => setting('true or false', readBoolean, meaning)

export const choice = <T extends string>(choices: readonly T[], meaning: string) =>
  setting(choices.join(' or '), oneOf(...choices), meaning)

/** Keys that belong together; all its defaults where it is left out, unless it is made optional. */
export const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.object(shape, { error: 'must hold keys of its own, each on a line of its own' })

/** What is null where it is left out. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) =>
  schema.optional().transform((value) => value ?? null)
