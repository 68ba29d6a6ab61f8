/** Why JSON could not be typed, in words for people. */
import type { z } from 'zod'
import { excerptOf } from '../http/receive.js'
import { memberTexts } from './json-text.js'

const PROBLEMS_LISTED_MAX = 3
const EXCERPT_CHARS_MAX = 60

/** Why JSON could not be typed, in one line for people. Values are quoted from its `text`, because parsing rounds long integers. */
export const problemOf = ({ issues }: z.ZodError, text: string): string => {
  const listed = issues.slice(0, PROBLEMS_LISTED_MAX).map(({ path, message }) => {
    const names = path.map(String)
    const value = textAt(text, names)
    const reason = value === null ? 'is missing' : `${message}, got ${excerpt(value)}`
    return names.length === 0 ? reason : `${names.join('.')}: ${reason}`
  })
  const unlisted = issues.length - listed.length
  return [...listed, ...(unlisted > 0 ? [`and ${unlisted} more`] : [])].join('; ')
}

const textAt = (text: string, path: readonly string[]): string | null => {
  const [name, ...rest] = path
  if (name === undefined) return text
  const member = memberTexts(text).get(name)
  return member === undefined ? null : textAt(member, rest)
}

/** The beginning of a value on one line, without characters that would steer a terminal. */
export const excerpt = (text: string): string => excerptOf(text, (same) => same, EXCERPT_CHARS_MAX)
