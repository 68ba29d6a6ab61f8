/** Errors of an export: a wrong request (exit 2), or a failure to write the files (exit 7). */
import { ConfigError, WarehouseError } from '../../base/errors.js'

export class ExportRequestError extends ConfigError {
  readonly code = 'export_request'
}

export class ExportFailedError extends WarehouseError {
  readonly code = 'export_failed'
}
