/** The errors of the warehouse. Each leads to an exit code. */
import { type ErrorCode, WarehouseError } from '../../base/errors.js'

/** The work database or a published file cannot be written or read: a full disk, permissions, or another kind of file at its path. */
export class WarehouseUnusableError extends WarehouseError {
  constructor(message: string, options?: ErrorOptions, code: ErrorCode = 'warehouse_unusable') {
    super(code, message, options)
  }
}

/** A result failed after its first rows. DuckDB's client does not say why. */
export class CutResultError extends WarehouseUnusableError {
  constructor(cause: unknown) {
    super('a result of DuckDB ended before its last row. Check the memory and the disk, then run again', {
      cause,
    })
  }
}

/** A part of the work database cannot be read. The file is set aside when it is closed, and the next run rebuilds the database. */
export class WarehouseDamagedError extends WarehouseUnusableError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options, 'warehouse_damaged')
  }
}

/** Another process holds the work database. Exit 6. */
export class WarehouseHeldError extends WarehouseError {
  constructor(message: string, options?: ErrorOptions) {
    super('warehouse_is_held', message, options)
  }
}
