/** Log lines for people. Only a terminal needs this file, and its library is loaded only then. */
import { prettyFactory } from 'pino-pretty'

export const prettyLines = (colour: boolean): ((json: string) => string) => {
  const pretty = prettyFactory({ colorize: colour, translateTime: 'SYS:HH:MM:ss', singleLine: true })
  return (json) => pretty(json.replaceAll(PAIR, (pair) => (/[bfru]/.test(pair) ? `\\${pair}` : pair)))
}

/** A character that JSON escapes. Only line breaks, tabs, quotes and backslashes are read; the others stay as they are written. */
const PAIR = /\\./g
