/** What can be wrong with an export: what was asked for (exit 2), or the place it is to be written to (exit 7). */
import { ConfigError, WarehouseError } from '../../base/errors.js'

export class ExportRequestError extends ConfigError {
  readonly code = 'export_request'
}

export class ExportFailedError extends WarehouseError {
  readonly code = 'export_failed'
}
