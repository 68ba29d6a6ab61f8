/** How an unknown field or value is called wherever people read of it. */
import { toUSVString } from 'node:util'
import type { MetDrift } from './run.js'

/** `survey.priority`, `survey.status "archived"`: on one line, whatever the API has sent. */
export const driftName = ({ resource, path, value }: Pick<MetDrift, 'resource' | 'path' | 'value'>): string =>
  onOneLine(`${resource}.${path}${value === null ? '' : ` ${JSON.stringify(excerpt(value))}`}`)

/** Without line ends and characters that would steer a terminal. */
export const onOneLine = (text: string): string => excerpt(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')

const excerpt = (text: string): string =>
  text.length <= CHARACTERS_MAX ? text : toUSVString(`${text.slice(0, CHARACTERS_MAX)}…`)

const CHARACTERS_MAX = 200
