/**
 * Decides what an error of DuckDB means. Its client gives no code, only a text that begins with the error's type, and only this file
 * reads such texts.
 */
import { constants } from 'node:os'
import { z } from 'zod'
import { addressSpaceAdvice } from '../../base/address-space.js'
import { isSystemError, messageOf, WarehouseError } from '../../base/errors.js'
import { isRunning } from '../../base/is-running.js'
import { parse } from '../../base/parse.js'
import { TemporaryDirectoryError } from '../../base/temporary-directory.js'
import { literal } from './ddl.js'
import { DuckDBInstance } from './duckdb.js'
import { WarehouseDamagedError, WarehouseUnusableError } from './errors.js'

/** Errors of another class are bugs of ours, or have a meaning of their own. */
const isPlain = (error: unknown): error is Error =>
  error instanceof Error && Object.getPrototypeOf(error) === Error.prototype

/** DuckDB's client throws plain errors without a code. Errors of Node's file functions have a code. */
const isDuckdbError = (error: unknown): boolean => isPlain(error) && !('code' in error)

/** Whether the system or DuckDB refused to read or write. Only such an error may be reported as an error of a file. */
export const isFileFailure = (error: unknown): boolean => isSystemError(error) || isPlain(error)

/** A statement was interrupted, by a signal. */
export const isInterrupt = (error: unknown): boolean =>
  isDuckdbError(error) &&
  /^(?:Failed to [a-z ]+: )?(?:INTERRUPT Error: |TransactionContext Error: Failed to commit: Interrupted)/.test(
    messageOf(error),
  )

/**
 * The error types that storage causes. Only the beginning is matched, because the rest may quote data. A failed commit loses the type of
 * its cause. With one connection and tables without constraints, only storage can make a commit fail.
 */
const STORAGE_FAILURE =
  /^(?:Failed to [a-z ]+: )?(?:(?:IO|FATAL|Out of Memory|Permission) Error: |TransactionContext Error: Failed to commit: )/

/**
 * The content of a file differs from what DuckDB wrote. A checkpoint of such a file fails with FATAL, and quotes one of these texts. The
 * kind of damage must be at the beginning of the text, because the word may also be in a path. A damaged file to which DuckDB spilled does
 * not count, because it is not ours.
 */
const DAMAGE =
  /^(?:IO|FATAL) Error: (?:.*(?:corrupt database file|could not read enough bytes|not a valid DuckDB database file)|(?!corrupt temporary)[^'"/]*corrupt)/is

const OUT_OF_MEMORY = /^(?:Failed to [a-z ]+: )?Out of Memory Error: /

/** System errors that do not concern the content of a file: no space, no permission, no memory, a failing disk. */
const TROUBLE_AROUND_THE_FILE =
  /^Out of Memory Error: |No space left on device|Disk quota exceeded|File too large|Permission denied|Operation not permitted|Read-only file system|Too many open files|Cannot allocate memory|Input\/output error|Stale file handle/

/** The write-ahead log belongs to the file, so a failed replay is damage too. */
const DAMAGED_LOG = /^IO Error: Failure while replaying WAL file /

/** Errors that do not prove damage by themselves. */
const MAY_PASS = /^(?:IO|Out of Memory|Permission|INTERRUPT) Error: /

const LOCK_CONFLICT = /Could not set lock on file /

export const isLockConflict = (error: unknown): boolean => LOCK_CONFLICT.test(messageOf(error))

/**
 * The process that holds the lock: its id, null if it runs in another container or on another machine, and a name such as `process 123
 * (/usr/bin/python3)`. Null for another error, or if DuckDB's text names no process.
 */
export const lockHolder = (error: unknown) => {
  const text = messageOf(error)
  if (!LOCK_CONFLICT.test(text)) return null
  const [, program, id, user] =
    /lock is held in (?:(.+?) \()?PID (-?\d+)\)?(?: by user (\S+?))?\./.exec(text) ?? []
  if (id === undefined) return null
  const pid = Number(id)
  // Linux reports 0 for a process in another PID namespace, and a negative number for a process on another machine.
  if (pid <= 0 || (program === undefined && !isRunning(pid)))
    return { pid: null, name: 'a process in another container or on another machine' }
  const details = [program ?? [], user === undefined ? [] : `user ${user}`].flat().join(', ')
  return { pid, name: `process ${pid}${details === '' ? '' : ` (${details})`}` }
}

/**
 * Whether the content of a file is damaged. Only a damaged file may be set aside or skipped, because any other file may be the newest
 * state.
 */
export const isDamage = (error: unknown): boolean => {
  const text = messageOf(error)
  if (!isDuckdbError(error) && !(error instanceof WarehouseUnusableError)) return false
  if (isLockConflict(error) || TROUBLE_AROUND_THE_FILE.test(text)) return false
  return DAMAGE.test(text) || DAMAGED_LOG.test(text) || !MAY_PASS.test(text)
}

/**
 * As `isDamage`, but also true for an error text without a path, as reading single blocks gives. It is less certain, so it is only for
 * reports.
 */
export const isAboutContent = (error: unknown): boolean =>
  isDamage(error) ||
  /^IO Error: (?!Trying to read a database file with version)[^"'/]*$/.test(messageOf(error))

/** Whether a statement failed because of its text, not because of storage. The person who wrote a part of the text needs the message. */
export const isStatementFault = (error: unknown): boolean =>
  /^(?:Binder|Conversion|Catalog|Parser|Invalid Input|Out of Range|Permission|Not implemented) Error: /.test(
    messageOf(error),
  )

/** Whether a statement of a user failed for another reason than a file that cannot be read. */
export const isQueryFault = (error: unknown): boolean =>
  isDuckdbError(error) && /^(?!IO |FATAL |INTERNAL |INTERRUPT )[A-Z][\w -]* Error: /.test(messageOf(error))

export const isOutOfMemory = (error: unknown): boolean => OUT_OF_MEMORY.test(messageOf(error))

/** DuckDB's message about a statement, on one line. `linesAbove` lines were put in front of the user's text. */
export const faultOnOneLine = (error: unknown, linesAbove: number): string => {
  const [what = '', line = '', excerpt = '', caret = ''] = messageOf(error).split(EXCERPT)
  const place =
    line === '' ? '' : ` (line ${Number(line) - linesAbove}, at ${JSON.stringify(from(excerpt, caret))})`
  return `${what.trim().replaceAll(/\s+/g, ' ').replace(/[.!]$/, '')}${place}`
}

/** DuckDB's excerpt of the statement. A long line is cut on both sides of the marked position. */
const EXCERPT = /\n+LINE (\d+): (.*)\n( *)\^[\s\S]*$/

const EXCERPT_MAX = 24
const from = (excerpt: string, caret: string): string =>
  excerpt.slice(Math.max(0, caret.length - 'LINE 1: '.length)).slice(0, EXCERPT_MAX)

/** The error to throw for `error`, which occurred while doing `action` to `file`. */
export const duckdbError = (error: unknown, action: string, file: string): unknown => {
  const text = messageOf(error)
  if (DAMAGE.test(text))
    return new WarehouseDamagedError(
      `${file} is damaged: ${firstLine(error)}. Run again: the next run sets it aside and rebuilds it from the published state`,
      { cause: error },
    )
  if (!STORAGE_FAILURE.test(text)) return error
  const ofMemory = OUT_OF_MEMORY.test(text) ? addressSpaceAdvice() : null
  const advice = ofMemory ?? 'Check the free space, the permissions and the disk, then run again'
  return new WarehouseUnusableError(
    `cannot ${action} ${file}: ${firstLine(error)}. ${advice}. Nothing that was committed is lost`,
    { cause: error },
  )
}

/**
 * The error to throw if reading the published state at `path` ended with `error`: a stop or a bug stays as it is. `spill` is the temporary
 * directory of DuckDB.
 */
export const unreadable = (path: string, error: unknown, spill?: string): unknown => {
  const cause = duckdbCause(error)
  if (!isFileFailure(cause) && !(cause instanceof WarehouseUnusableError)) return error
  return spill !== undefined && messageOf(cause).includes(spill)
    ? new TemporaryDirectoryError(firstLine(cause), { cause })
    : new WarehouseUnusableError(`cannot read ${path}: ${whyUnreadable(cause)}`, { cause })
}

const whyUnreadable = (error: unknown): string => {
  if (isLockConflict(error))
    return `it is open for writing in ${lockHolder(error)?.name ?? 'another process'}, which locks out all other readers. Close it there, and open it read-only: read_only=True, duckdb -readonly, duckdb.read_only=true`
  return isSystemError(error) || TROUBLE_AROUND_THE_FILE.test(messageOf(error))
    ? `${firstLine(error)}. Check the permissions and the disk, then try again`
    : `${firstLine(error)}. Run fieldwork-sync sync to publish it anew`
}

/** The original error of DuckDB in an error that `duckdbError` made, for a failure that concerns another file. */
export const duckdbCause = (error: unknown): unknown =>
  error instanceof WarehouseUnusableError ? (error.cause ?? error) : error

/** The first line of a message, without its full stop, to be quoted in a sentence. */
export const firstLine = (error: unknown): string =>
  messageOf(error).split('\n', 1)[0]?.trim().replace(/[.!]$/, '') ?? ''

/**
 * Why DuckDB could not lock a file: an error `lock_refused`, or `conflict` if another process holds the lock. DuckDB's message is the same
 * if a file system has no locks. Only the number of the system's error distinguishes the two, and only errors of statements have it, as
 * JSON.
 */
export const refusedLock = async (conflict: unknown, file: string, isReadOnly: boolean): Promise<unknown> => {
  const name = await nameOfError(file, isReadOnly)
  // POSIX allows EAGAIN and EACCES for a lock that another process holds.
  if (name === null || name === 'EAGAIN') return conflict
  if (name === 'EACCES' && (lockHolder(conflict)?.pid ?? null) !== null) return conflict
  return new WarehouseError(
    'lock_refused',
    FAILURES.includes(name)
      ? `cannot lock ${file}: ${name}. Check the disk or the network share, then run again`
      : `cannot lock ${file}: this file system gives no locks (${name}). Use another volume, or a bucket`,
    { cause: conflict },
  )
}

/** Errors of file systems that support locks. */
const FAILURES: readonly string[] = ['EIO', 'ENOMEM', 'ESTALE', 'ETIMEDOUT', 'ENOTCONN', 'EHOSTDOWN']

/** Null if the lock can be set now, or if the attempt fails in another way. */
const nameOfError = async (file: string, isReadOnly: boolean): Promise<string | null> => {
  const instance = await DuckDBInstance.create(':memory:', { errors_as_json: 'true' })
  const connection = await instance.connect()
  try {
    await connection.run(`ATTACH ${literal(file)} AS held${isReadOnly ? ' (READ_ONLY)' : ''}`)
    return null
  } catch (error) {
    return nameIn(messageOf(error))
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

const errorJson = z.object({ errno: z.coerce.number() })

const nameIn = (text: string): string | null => {
  try {
    const { errno } = parse(errorJson, JSON.parse(text), 'an error of DuckDB')
    return Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? `error ${errno}`
  } catch {
    return null
  }
}
