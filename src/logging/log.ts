/**
 * The log on stderr: one line per event, as JSON for programs or pretty for people. Each line passes the redactor as text
 * just before it is written. Writes are synchronous, so that a process that ends loses no line.
 */
import type { Log, LogFields } from '../base/log.js'
import { plainFields } from './log-fields.js'
import type { TextStream } from './stderr.js'

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LEVELS)[number]

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
  const at = (name: Exclude<LogLevel, 'silent'>) => {
    const isEnabled = LEVELS.indexOf(name) >= LEVELS.indexOf(level)
    return (fields: LogFields, message: string): void => {
      if (!isEnabled) return
      const event = { level: name, time: new Date().toISOString(), ...plainFields(fields, redact) }
      const line = redact(`${JSON.stringify({ ...event, msg: redact(message) })}\n`)
      stream.write(pretty === null ? line : redact(pretty(line)))
    }
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
