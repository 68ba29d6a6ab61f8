/**
 * The log on stderr: one line per event, as JSON for programs or pretty for people. Each line passes the redactor as text
 * just before it is written. Writes are synchronous, so that a process that ends loses no line.
 */
import { pino } from 'pino'
import type { Log, LogFields } from '../base/log.js'
import { plainFields } from './log-fields.js'
import type { TextStream } from './stderr.js'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

export interface LogOptions {
  readonly level: LogLevel
  /** `createStderr()`, or a status line that writes to it. */
  readonly stream: TextStream
  /** Makes a line for people of a line of JSON (`prettyLines`). Null for JSON. */
  readonly pretty: ((json: string) => string) | null
  /** Replaces the secrets in a text (`createRedactor`). */
  readonly redact: (text: string) => string
}

export const createLog = ({ level, stream, pretty, redact }: LogOptions): Log => {
  const destination = {
    write: (line: string): void => {
      const safe = redact(line)
      stream.write(pretty === null ? safe : redact(pretty(safe)))
    },
  }
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
  const at =
    (name: Exclude<LogLevel, 'silent'>) =>
    (fields: LogFields, message: string): void => {
      if (logger.isLevelEnabled(name)) logger[name](plainFields(fields, redact), redact(message))
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
