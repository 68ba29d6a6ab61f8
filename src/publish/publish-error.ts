/** What a failed publish throws. Nothing that was published has changed, unless it is an `UnsyncedError`. */
import { duckdbCause, firstLine, isFileFailure } from '../warehouse/connection/duckdb-error.js'
import { WarehouseDamagedError, WarehouseUnusableError } from '../warehouse/connection/errors.js'

/**
 * Returns `error` itself if it says already what to do, such as a stop, or if it is a bug. `target` follows the words "cannot publish";
 * `unchanged` names what readers still see; `also` ends the message with what else the next run does.
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
