/** The errors of a bucket that is the warehouse. */
import { type ExitCode, WarehouseError } from '../../base/errors.js'

/** Another run took the lease (exit 6), or we could not renew it in time (exit 7). */
export class LeaseLostError extends WarehouseError {
  override readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode, options?: ErrorOptions) {
    super('lease_lost', message, options)
    this.exitCode = exitCode
  }
}

/** Another run published in the meantime, so this run's version is not published. Exit 6. */
export class LostPublishError extends WarehouseError {
  constructor(message: string, options?: ErrorOptions) {
    super('lost_publish', message, options)
  }
}
