/** The errors of a bucket that is the warehouse. */
import { ConfigError, EXIT_CODES, type ExitCode, WarehouseError } from '../../base/errors.js'

/** Another run took the lease (exit 6), or we could not renew it in time (exit 7). */
export class LeaseLostError extends WarehouseError {
  readonly code = 'lease_lost'
  override readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** Another run published in the meantime, so this run's version is not published. Exit 6. */
export class LostPublishError extends WarehouseError {
  readonly code = 'lost_publish'
  override readonly exitCode = EXIT_CODES.held
}

/** The version is published, but Delta tables still show an older one. Exit 7. */
export class DeltaBehindError extends WarehouseError {
  readonly code = 'delta_behind'
}

/** A document in the bucket is damaged, missing, or of a newer version. Exit 7. */
export class BucketDamagedError extends WarehouseError {
  readonly code = 'bucket_damaged'
}

/** The bucket or the local directory belongs to other settings. Exit 2. */
export class OtherBucketError extends ConfigError {
  readonly code = 'other_bucket'
}
