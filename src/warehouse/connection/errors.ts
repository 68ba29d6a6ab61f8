/** The errors of the warehouse. Each leads to an exit code. */
import { EXIT_CODES, WarehouseError } from '../../base/errors.js'

/** The work database or a published file cannot be written or read: a full disk, permissions, or something else in its place. */
export class WarehouseUnusableError extends WarehouseError {
  readonly code: string = 'warehouse_unusable'
}

/** A part of the work database cannot be read. It is set aside when it is closed, and the next run rebuilds it. */
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

/** The system refuses the lock that DuckDB sets on every file, although nobody holds it: a network share without locks, or a failing disk. */
export class LockRefusedError extends WarehouseError {
  readonly code = 'lock_refused'
}
