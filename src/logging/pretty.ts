/** Log lines for people. Only a terminal needs this file, and its library is loaded only then. */
import { prettyFactory } from 'pino-pretty'

export const prettyLines = (colour: boolean): ((json: string) => string) =>
  prettyFactory({ colorize: colour, translateTime: 'SYS:HH:MM:ss', singleLine: true })
