/**
 * Publishes the committed state as `fieldwork.duckdb`, the file that readers open. The work database is checkpointed and copied,
 * the copy is proved readable, and a rename puts it in place. Nobody may write the file, because a reader that opens it for writing
 * locks out all others (docs/decisions/publish.md#0041-nobody-may-write-the-published-file).
 */
import { stat } from 'node:fs/promises'
import { throwIfAborted } from '../base/clock.js'
import { messageOf } from '../base/errors.js'
import { publishedPath } from '../model/publish-formats.js'
import type { Publisher } from '../model/warehouse.js'
import type { Database } from '../warehouse/connection/database.js'
import { isFileFailure } from '../warehouse/connection/duckdb-error.js'
import { WarehouseDamagedError, WarehouseUnusableError } from '../warehouse/connection/errors.js'
import { copyProved } from './duckdb-copy.js'
import type { FileSystemLacks } from './file-system-lacks.js'
import {
  protectFromWriting,
  replaceFile,
  sweepTemporaries,
  syncToDisk,
  temporaryBeside,
} from './replace-file.js'

/** Throws `WarehouseUnusableError` if it cannot publish. The published file is then untouched, unless it is an `UnsyncedError`. */
export const createDuckdbPublisher = (
  database: Database,
  directory: string,
  lacks: FileSystemLacks,
): Publisher => ({
  format: 'duckdb',
  publish: async (signal) => {
    const target = publishedPath(directory, 'duckdb')
    const temporary = temporaryBeside(target)
    let replacing = false
    try {
      throwIfAborted(signal)
      await sweepTemporaries(target)
      await copyProved(database, temporary, signal)
      await protectFromWriting(temporary, lacks)
      await syncToDisk(temporary)
      const bytes = (await stat(temporary)).size
      throwIfAborted(signal)
      replacing = true
      await replaceFile(temporary, target, lacks)
      lacks.logNew(directory)
      return [{ format: 'duckdb', path: target, bytes }]
    } catch (error) {
      // The first failure is reported. The next publish removes a file that cannot be removed now.
      const leftover = await sweepTemporaries(target).then(
        () => '',
        (second: unknown) => `, which also removes ${temporary} (${messageOf(second)})`,
      )
      if (!isFileFailure(error) && !(error instanceof WarehouseUnusableError)) throw error
      // After a signal, the errors of interrupted statements do not count. Damage does: the file must be set aside.
      if (!replacing && !(error instanceof WarehouseDamagedError)) throwIfAborted(signal)
      throw new WarehouseUnusableError(
        `cannot publish ${target}: ${messageOf(error)}. The published file is unchanged; the next run publishes again${leftover}`,
        { cause: error },
      )
    }
  },
})
