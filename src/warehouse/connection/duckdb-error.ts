/**
 * What a failure of DuckDB means. Its client gives no code, only a text that begins with the name of the error's
 * type; this is the one place that reads it. What is not about storage is a bug of ours and stays as it is.
 */
import { messageOf } from '../../base/errors.js'
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

/** The write-ahead log is a part of the file: what cannot be replayed from it is as lost as the rest. */
const DAMAGED_LOG = /^IO Error: Failure while replaying WAL file /

/** Types of failures that may pass: who says no more than that has not seen a fault in the content. */
const MAY_PASS = /^(?:IO|Out of Memory|Permission|INTERRUPT) Error: /

const LOCK_CONFLICT = /Could not set lock on file /

export const isLockConflict = (error: unknown): boolean => LOCK_CONFLICT.test(messageOf(error))

/**
 * Who has the file open for which DuckDB could not set a lock: `process 123 (/usr/bin/python3)`. Null where the failure is
 * another one, or the system does not know, as on a network share.
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
 * Whether the content of a file is at fault, so that another attempt would end the same way. Only such a file may be set
 * aside or passed over. Anything else may be in order, and may be the newest state there is.
 */
export const isDamage = (error: unknown): boolean => {
  const text = messageOf(error)
  // What Node's file functions throw has a code such as EACCES.
  if (error instanceof Error && 'code' in error && /^E[A-Z0-9_]+$/.test(String(error.code))) return false
  if (isLockConflict(error) || TROUBLE_AROUND_THE_FILE.test(text)) return false
  return DAMAGE.test(text) || DAMAGED_LOG.test(text) || !MAY_PASS.test(text)
}

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

/** The error to throw where what was published at `path` cannot be read. */
export const unreadable = (path: string, error: unknown): WarehouseUnusableError =>
  new WarehouseUnusableError(`cannot read ${path}: ${whyUnreadable(error)}`, { cause: error })

/** To publish anew mends what is damaged or old. It mends no lock and no missing right: a reader meets those again. */
const whyUnreadable = (error: unknown): string => {
  if (isLockConflict(error))
    return `it is open for writing in ${lockHolder(error) ?? 'another process'}, which locks out all other readers. Close it there, and open it read-only: read_only=True, duckdb -readonly, duckdb.read_only=true`
  return TROUBLE_AROUND_THE_FILE.test(messageOf(error))
    ? `${firstLine(error)}. Check the permissions and the disk, then try again`
    : `${firstLine(error)}. Run fieldwork-sync sync to publish it anew`
}

/** What DuckDB itself said, of an error that may be one of `duckdbError`: for a failure that has to do with another file. */
export const duckdbCause = (error: unknown): unknown =>
  error instanceof WarehouseUnusableError ? (error.cause ?? error) : error

export const firstLine = (error: unknown): string => messageOf(error).split('\n', 1)[0]?.trim() ?? ''
