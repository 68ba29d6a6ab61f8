/** What a failed publish throws. Nothing that was published has changed, unless it is an `UnsyncedError`. */
import { duckdbCause, firstLine, isFileFailure } from '../warehouse/connection/duckdb-error.js'
import { WarehouseDamagedError, WarehouseUnusableError } from '../warehouse/connection/errors.js'

/** `error` itself if it is a stop or a bug. `target` follows "cannot publish"; `unchanged` names what readers still see. */
export const publishError = (error: unknown, target: string, unchanged: string): unknown => {
  const cause = duckdbCause(error)
  if (!isFileFailure(cause) && !(error instanceof WarehouseUnusableError)) return error
  const why = error instanceof WarehouseDamagedError ? error.message : firstLine(cause)
  return new WarehouseUnusableError(
    `cannot publish ${target}: ${why.replace(/\.$/, '')}. ${unchanged} is unchanged; the next run publishes again`,
    { cause: error },
  )
}
