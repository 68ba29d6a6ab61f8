/** What can go wrong with the warehouse, each with the exit code it leads to. */
import { EXIT_CODES, WarehouseError } from '../../base/errors.js'

/** The work database or a published file cannot be written or read: disk full, permissions, a file in its place. */
export class WarehouseUnusableError extends WarehouseError {
  readonly code: string = 'warehouse_unusable'
}

/** A part of the work database cannot be read. It is set aside when it is closed, and rebuilt by the next run. */
export class WarehouseDamagedError extends WarehouseUnusableError {
  override readonly code = 'warehouse_damaged'
}

/** The database was written by a newer version of this program. */
export class NewerWarehouseError extends WarehouseError {
  readonly code = 'warehouse_is_newer'
}

/** Another process holds the work database. Exit 6. */
export class WarehouseHeldError extends WarehouseError {
  readonly code = 'warehouse_is_held'
  override readonly exitCode = EXIT_CODES.held
}
