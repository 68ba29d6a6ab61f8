/** The errors of an object store. Each says which object, why, and what to do. */
import { WarehouseError } from '../base/errors.js'

/** The object store refused a request, stayed unreachable, or answered something unusable. Exit 7. */
export class ObjectStoreError extends WarehouseError {
  constructor(message: string, options?: ErrorOptions) {
    super('object_store', message, options)
  }
}
