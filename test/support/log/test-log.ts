/** A log that keeps its lines, and what a test does not look at. */
import type { Log, LogFields } from '../../../src/base/log.js'
import type { RunObserver } from '../../../src/model/run.js'

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

const ignore = () => undefined

export const SILENT: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
export const UNOBSERVED: RunObserver = {
  waiting: ignore,
  listed: ignore,
  refreshed: ignore,
  ended: ignore,
  publishing: ignore,
}
