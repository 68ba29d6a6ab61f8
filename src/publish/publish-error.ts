/** What a failed publish throws. Nothing that was published has changed, unless it is an `UnsyncedError`. */
import { isStop, WarehouseError } from '../base/errors.js'
import { duckdbCause, firstLine } from '../warehouse/connection/duckdb-error.js'
import { WarehouseDamagedError, WarehouseUnusableError } from '../warehouse/connection/errors.js'

/**
 * Returns `error` itself if it says already what to do: a stop, or an error of the warehouse with a class of its own. `target` follows
 * the words "cannot publish"; `unchanged` names what readers still see.
 */
export const publishError = (error: unknown, target: string, unchanged: string): unknown => {
  if (isStop(error) || (error instanceof WarehouseError && !(error instanceof WarehouseUnusableError)))
    return error
  const why = error instanceof WarehouseDamagedError ? error.message : firstLine(duckdbCause(error))
  return new WarehouseUnusableError(
    `cannot publish ${target}: ${why.replace(/\.$/, '')}. ${unchanged} is unchanged; the next run publishes again`,
    { cause: error },
  )
}
