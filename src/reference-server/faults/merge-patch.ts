/** JSON merge patch (RFC 7396), at the places that a JSON pointer (RFC 6901) with `*` names. Returns new values. */
import { isList, isObject, type Json } from './json.js'

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
