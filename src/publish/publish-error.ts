/** The error of a failed publish. The published state is unchanged, unless the error is an `UnsyncedError`. */
import { duckdbCause, firstLine, isFileFailure } from '../warehouse/connection/duckdb-error.js'
import { WarehouseDamagedError, WarehouseUnusableError } from '../warehouse/connection/errors.js'

/**
 * Returns `error` itself if its message already says what to do, as a stop's does, or if it is a bug. In the message, `target` follows the
 * words "cannot publish", `unchanged` names what readers still see, and `also` says at the end what else the next run does.
 */
export const publishError = (error: unknown, target: string, unchanged: string, also = ''): unknown => {
  const cause = duckdbCause(error)
  if (!isFileFailure(cause) && !(error instanceof WarehouseUnusableError)) return error
  const why = error instanceof WarehouseDamagedError ? error.message : firstLine(cause)
  return new WarehouseUnusableError(
    `cannot publish ${target}: ${why.replace(/\.$/, '')}. ${unchanged} is unchanged; the next run publishes again${also}`,
    { cause: error },
  )
}
