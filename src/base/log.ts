/** The interface of the log for all other code: fields and a message. `src/logging` writes them, redacted, to stderr. */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

export type LogFields = Readonly<Record<string, unknown>>

/** A log that puts the fields of `common` before the fields of every line. */
export const logWith = (log: Log, common: LogFields): Log => ({
  debug: (fields, message) => log.debug({ ...common, ...fields }, message),
  info: (fields, message) => log.info({ ...common, ...fields }, message),
  warn: (fields, message) => log.warn({ ...common, ...fields }, message),
  error: (fields, message) => log.error({ ...common, ...fields }, message),
})

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
