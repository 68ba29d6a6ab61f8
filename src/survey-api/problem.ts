/** Why JSON could not be typed, in one line for people: fields, expected types, received values. */
import { toUSVString } from 'node:util'
import type { z } from 'zod'
import { memberTexts } from './json-text.js'

/** Problems that are listed; the rest is counted. */
const PROBLEMS_LISTED_MAX = 3
/** Characters of a wrong value that a problem shows. */
const EXCERPT_CHARS_MAX = 60

/** `text` is the JSON that was checked: values are quoted from it, because parsing rounds long integers. */
export const problemOf = ({ issues }: z.ZodError, text: string): string => {
  const listed = issues.slice(0, PROBLEMS_LISTED_MAX).map(({ path, message }) => {
    const names = path.map(String)
    const found = textAt(text, names)
    const reason = found === null ? 'is missing' : `${message}, got ${excerpt(found)}`
    return names.length === 0 ? reason : `${names.join('.')}: ${reason}`
  })
  const unlisted = issues.length - listed.length
  return [...listed, ...(unlisted > 0 ? [`and ${unlisted} more`] : [])].join('; ')
}

/** The JSON text at a path of member names; null without one. */
const textAt = (text: string, path: readonly string[]): string | null => {
  const [name, ...rest] = path
  if (name === undefined) return text
  const found = memberTexts(text).get(name)
  return found === undefined ? null : textAt(found, rest)
}

/** The beginning of a value on one line, without characters that would steer a terminal. */
export const excerpt = (text: string): string => {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
  return toUSVString(line.length <= EXCERPT_CHARS_MAX ? line : `${line.slice(0, EXCERPT_CHARS_MAX)}…`)
}
