/** JSON as values. Faults also come from YAML and from calls, which have values that JSON cannot hold. */

export type Json = string | number | boolean | null | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [name: string]: Json
}

export const JSON_LEVELS_MAX = 100

/** Whether `value` can be written as JSON with at most `levelsMax` levels; a value from YAML may contain itself. */
export const isJson = (value: unknown, levelsMax = JSON_LEVELS_MAX): value is Json => {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (levelsMax === 0 || typeof value !== 'object') return false
  return Object.values(value).every((part) => isJson(part, levelsMax - 1))
}

export const isList = (value: Json): value is readonly Json[] => Array.isArray(value)

export const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !isList(value)
