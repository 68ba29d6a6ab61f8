/** A log that keeps its lines. */
import type { Log, LogFields } from '../../../src/base/log.js'

export interface LogLine {
  readonly level: string
  readonly fields: LogFields
  readonly message: string
}

export const testLog = (): Log & { readonly lines: LogLine[] } => {
  const lines: LogLine[] = []
  const at = (level: string) => (fields: LogFields, message: string) => {
    lines.push({ level, fields, message })
  }
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
