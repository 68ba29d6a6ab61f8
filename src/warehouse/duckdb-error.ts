/**
 * What a failure of DuckDB means. Its client gives no code, only a text that begins with the name of the error's
 * type; this is the one place that reads it. What is not about storage is a bug of ours and stays as it is.
 */
import { messageOf } from '../base/errors.js'
import { WarehouseDamagedError, WarehouseUnusableError } from './errors.js'

/**
 * The types that storage causes: no room, no permission, a broken device, or a database closed by such a failure. Only
 * at the beginning: further on, the text quotes data. A commit loses the type of what made it fail, but in tables
 * without constraints, with one connection, nothing else can.
 */
const STORAGE_FAILURE =
  /^(?:Failed to [a-z ]+: )?(?:(?:IO|FATAL|Out of Memory|Permission) Error: |TransactionContext Error: Failed to commit: )/

/** A file whose content is not what DuckDB has written. A checkpoint that meets it fails as FATAL and quotes it. */
const DAMAGE =
  /^(?:IO|FATAL) Error: .*(?:Corrupt database file|Could not read enough bytes|not a valid DuckDB database file)/s

/** What the system says when the trouble is not in the file: no room, no right, no memory, a disk that fails. */
const TROUBLE_AROUND_THE_FILE =
  /^Out of Memory Error: |No space left on device|Disk quota exceeded|File too large|Permission denied|Operation not permitted|Read-only file system|Too many open files|Cannot allocate memory|Input\/output error|Stale file handle/

export const isLockConflict = (error: unknown): boolean =>
  messageOf(error).includes('Could not set lock on file')

/** Whether a file that could not be opened may be in order: then it must not be set aside. */
export const isTroubleAroundTheFile = (error: unknown): boolean =>
  TROUBLE_AROUND_THE_FILE.test(messageOf(error))

/** A name in a condition that the table it is tried on does not have. */
export const isUnknownName = (error: unknown): boolean =>
  /^Binder Error: (?:Referenced (?:column|table) |Table "[^"]*" does not have a column)/.test(
    messageOf(error),
  )

/** A statement that is at fault itself, not storage: what the person who wrote a part of it has to know. */
export const isStatementFault = (error: unknown): boolean =>
  /^(?:Binder|Conversion|Catalog|Parser|Invalid Input|Out of Range|Permission|Not implemented) Error: /.test(
    messageOf(error),
  )

/** The error to throw for `error`, which happened while doing `action` to `file`. */
export const duckdbError = (error: unknown, action: string, file: string): unknown => {
  const text = messageOf(error)
  if (DAMAGE.test(text))
    return new WarehouseDamagedError(
      `${file} is damaged: ${firstLine(error)}. Run again: the next run sets it aside and rebuilds it from what was published`,
      { cause: error },
    )
  return STORAGE_FAILURE.test(text)
    ? new WarehouseUnusableError(
        `cannot ${action} ${file}: ${firstLine(error)}. Check the free space, the permissions and the disk, then run again: nothing committed is lost`,
        { cause: error },
      )
    : error
}

/** What DuckDB itself said, of an error that may be one of `duckdbError`: for a failure that has to do with another file. */
export const duckdbCause = (error: unknown): unknown =>
  error instanceof WarehouseUnusableError ? (error.cause ?? error) : error

export const firstLine = (error: unknown): string => messageOf(error).split('\n', 1)[0]?.trim() ?? ''
