/** The log as every room sees it: a message and fields. `telemetry` writes it, redacted, to stderr. */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

export type LogFields = Readonly<Record<string, unknown>>

/** The same log, every line with these fields before its own. */
export const logWith = (log: Log, common: LogFields): Log => ({
  debug: (fields, message) => log.debug({ ...common, ...fields }, message),
  info: (fields, message) => log.info({ ...common, ...fields }, message),
  warn: (fields, message) => log.warn({ ...common, ...fields }, message),
  error: (fields, message) => log.error({ ...common, ...fields }, message),
})
