/** Names of differences from the API document, the same in every output. */
import { toUSVString } from 'node:util'
import type { MetDrift } from './run.js'

/** `survey.priority`, `survey.status "archived"`, `survey.title (characters replaced by U+FFFD)` on one line, whatever the API sent. */
export const driftName = (drift: Pick<MetDrift, 'resource' | 'kind' | 'path' | 'value'>): string => {
  const { resource, kind, path, value } = drift
  const what = value === null ? '' : ` ${JSON.stringify(excerpt(value))}`
  const how = kind === 'replaced_text' ? ' (characters replaced by U+FFFD)' : ''
  return onOneLine(`${resource}.${path}${what}${how}`)
}

/** Without line ends and characters that would steer a terminal. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')

/** `printable`, and short enough for a line. */
export const onOneLine = (text: string): string => printable(excerpt(text))

const excerpt = (text: string): string =>
  text.length <= CHARACTERS_MAX ? text : toUSVString(`${text.slice(0, CHARACTERS_MAX)}…`)

const CHARACTERS_MAX = 200
