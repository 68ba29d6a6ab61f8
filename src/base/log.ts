/** The interface of the log for all other code: fields and a message. `src/logging` writes them, redacted, to stderr. */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

export type LogFields = Readonly<Record<string, unknown>>

/** The function of a level that is not written. */
export const notWritten = (): undefined => undefined

/** A log that puts the fields of `common` before the fields of every line. */
export const logWith = (log: Log, common: LogFields): Log => {
  const at = (level: keyof Log): Log[keyof Log] =>
    log[level] === notWritten
      ? notWritten
      : (fields, message) => log[level]({ ...common, ...fields }, message)
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
