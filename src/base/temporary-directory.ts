import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isSystemError, messageOf, WarehouseError } from './errors.js'

/** A temporary directory of the system cannot be made or written. */
export class TemporaryDirectoryError extends WarehouseError {
  constructor(reason: string, options?: ErrorOptions) {
    super(
      'temporary_unwritable',
      `cannot write temporary files into ${tmpdir()}: ${reason}. Check its space and permissions, or name another directory by TMPDIR`,
      options,
    )
  }
}

/** A new temporary directory of the system. `use` is a part of its name, for people who find it. Throws a `TemporaryDirectoryError`. */
export const makeTemporaryDirectory = async (
  use: string,
): Promise<AsyncDisposable & { readonly path: string }> => {
  const path = await mkdtemp(join(tmpdir(), `fieldwork-sync-${use}-`)).catch((error: unknown) => {
    throw isSystemError(error) ? new TemporaryDirectoryError(messageOf(error), { cause: error }) : error
  })
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
