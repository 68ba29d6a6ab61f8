/**
 * Decides what an error of DuckDB means. Its client gives no code, only a text that begins with the error's type. Only this file
 * reads such texts. An error that is not about storage is a bug of ours and is not changed.
 */
import { messageOf } from '../../base/errors.js'
import { WarehouseDamagedError, WarehouseUnusableError } from './errors.js'

/**
 * The error types that storage causes: a full disk, a missing permission, a broken device, or a database that such a failure
 * closed. Only the beginning is matched, because the rest may quote data. A failed commit loses the type of its cause. With one
 * connection and tables without constraints, only storage can cause it.
 */
const STORAGE_FAILURE =
  /^(?:Failed to [a-z ]+: )?(?:(?:IO|FATAL|Out of Memory|Permission) Error: |TransactionContext Error: Failed to commit: )/

/** The content of a file differs from what DuckDB wrote. A checkpoint fails with FATAL then, and quotes this text. */
const DAMAGE =
  /^(?:IO|FATAL) Error: .*(?:Corrupt database file|Could not read enough bytes|not a valid DuckDB database file)/s

/** System errors that are not about the content of a file: no space, no permission, no memory, a failing disk. */
const TROUBLE_AROUND_THE_FILE =
  /^Out of Memory Error: |No space left on device|Disk quota exceeded|File too large|Permission denied|Operation not permitted|Read-only file system|Too many open files|Cannot allocate memory|Input\/output error|Stale file handle/

/** The write-ahead log is a part of the file, so a failed replay is damage too. */
const DAMAGED_LOG = /^IO Error: Failure while replaying WAL file /

/** Error types that may be temporary: alone they do not prove damage. */
const MAY_PASS = /^(?:IO|Out of Memory|Permission|INTERRUPT) Error: /

const LOCK_CONFLICT = /Could not set lock on file /

export const isLockConflict = (error: unknown): boolean => LOCK_CONFLICT.test(messageOf(error))

/**
 * The process that holds the lock which DuckDB could not set: `process 123 (/usr/bin/python3)`. Null for another error, or if the
 * system cannot name the process, as on a network share.
 */
export const lockHolder = (error: unknown): string | null => {
  const text = messageOf(error)
  if (!LOCK_CONFLICT.test(text)) return null
  const [, program, pid, user] =
    /lock is held in (?:(.+?) \()?PID (\d+)\)?(?: by user (\S+?))?\./.exec(text) ?? []
  if (pid === undefined) return null
  const details = [program, user === undefined ? undefined : `user ${user}`].filter(
    (detail) => detail !== undefined,
  )
  return `process ${pid}${details.length === 0 ? '' : ` (${details.join(', ')})`}`
}

/**
 * Whether the content of a file is damaged, so that another attempt would fail too. Only such a file may be set aside or skipped.
 * Any other file may be intact, and may be the newest state.
 */
export const isDamage = (error: unknown): boolean => {
  const text = messageOf(error)
  // Errors of Node's file functions have a code such as EACCES.
  if (error instanceof Error && 'code' in error && /^E[A-Z0-9_]+$/.test(String(error.code))) return false
  if (isLockConflict(error) || TROUBLE_AROUND_THE_FILE.test(text)) return false
  return DAMAGE.test(text) || DAMAGED_LOG.test(text) || !MAY_PASS.test(text)
}

/** A condition uses a name that the table does not have. */
export const isUnknownName = (error: unknown): boolean =>
  /^Binder Error: (?:Referenced (?:column|table) |Table "[^"]*" does not have a column)/.test(
    messageOf(error),
  )

/** The statement itself is wrong, not storage. The person who wrote a part of it needs this message. */
export const isStatementFault = (error: unknown): boolean =>
  /^(?:Binder|Conversion|Catalog|Parser|Invalid Input|Out of Range|Permission|Not implemented) Error: /.test(
    messageOf(error),
  )

/** The error to throw for `error`, which occurred while doing `action` to `file`. */
export const duckdbError = (error: unknown, action: string, file: string): unknown => {
  const text = messageOf(error)
  if (DAMAGE.test(text))
    return new WarehouseDamagedError(
      `${file} is damaged: ${firstLine(error)}. Run again: the next run sets it aside and rebuilds it from the published state`,
      { cause: error },
    )
  return STORAGE_FAILURE.test(text)
    ? new WarehouseUnusableError(
        `cannot ${action} ${file}: ${firstLine(error)}. Check the free space, the permissions and the disk, then run again. Nothing that was committed is lost`,
        { cause: error },
      )
    : error
}

/** The error to throw if the published state at `path` cannot be read. */
export const unreadable = (path: string, error: unknown): WarehouseUnusableError =>
  new WarehouseUnusableError(`cannot read ${path}: ${whyUnreadable(error)}`, { cause: error })

/** A new publish replaces a damaged or old file. It does not help against a lock or a missing permission. */
const whyUnreadable = (error: unknown): string => {
  if (isLockConflict(error))
    return `it is open for writing in ${lockHolder(error) ?? 'another process'}, which locks out all other readers. Close it there, and open it read-only: read_only=True, duckdb -readonly, duckdb.read_only=true`
  return TROUBLE_AROUND_THE_FILE.test(messageOf(error))
    ? `${firstLine(error)}. Check the permissions and the disk, then try again`
    : `${firstLine(error)}. Run fieldwork-sync sync to publish it anew`
}

/** The original error of DuckDB behind one of `duckdbError`, for a failure that concerns another file. */
export const duckdbCause = (error: unknown): unknown =>
  error instanceof WarehouseUnusableError ? (error.cause ?? error) : error

/** The first line of a message, without its full stop, to be quoted in a sentence. */
export const firstLine = (error: unknown): string =>
  messageOf(error).split('\n', 1)[0]?.trim().replace(/[.!]$/, '') ?? ''
