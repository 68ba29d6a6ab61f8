/**
 * JSON as values, and JSON merge patch (RFC 7396) at the places that a JSON pointer (RFC 6901) with `*` names. Faults also
 * come from YAML and from calls, which have values that JSON cannot hold. A patch returns new values.
 */

export type Json = string | number | boolean | null | readonly Json[] | JsonObject

interface JsonObject {
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

const isList = (value: Json): value is readonly Json[] => Array.isArray(value)

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !isList(value)

/** `target` with the members of `patch` merged in; null removes one. A `patch` that is no object replaces `target`. */
export const mergePatch = (target: Json, patch: Json): Json => {
  if (!isObject(patch)) return patch
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, part] of Object.entries(patch)) {
    if (part === null) merged.delete(name)
    else merged.set(name, mergePatch(merged.get(name) ?? null, part))
  }
  return Object.fromEntries(merged)
}

/**
 * `document` with `change` made at every place that `pointer` names: `*` stands for every element of a list or member
 * of an object. A pointer to nothing changes nothing.
 */
export const changeAt = (document: Json, pointer: string, change: (target: Json) => Json): Json =>
  changeBelow(document, pointerSteps(pointer), change)

/** Whether `pointer` has the syntax of RFC 6901. */
export const isPointer = (pointer: string): boolean => /^(?:\/(?:[^~/]|~[01])*)*$/.test(pointer)

const pointerSteps = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))

const changeBelow = (document: Json, steps: readonly string[], change: (target: Json) => Json): Json => {
  const [step, ...rest] = steps
  if (step === undefined) return change(document)
  const changed = (name: string, part: Json): Json =>
    step === '*' || step === name ? changeBelow(part, rest, change) : part
  if (isList(document)) return document.map((part, place) => changed(String(place), part))
  if (!isObject(document)) return document
  return Object.fromEntries(Object.entries(document).map(([name, part]) => [name, changed(name, part)]))
}
