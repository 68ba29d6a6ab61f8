/**
 * Why DuckDB could not lock a file. It says that another process holds it whenever the system refuses the lock, also where a file system
 * has no locks. The number of the system's error tells them apart. Only the errors of statements have it, as JSON.
 */
import { constants } from 'node:os'
import { DuckDBInstance } from '@duckdb/node-api'
import { z } from 'zod'
import { messageOf } from '../../base/errors.js'
import { literal } from './ddl.js'
import { lockHolder } from './duckdb-error.js'
import { LockRefusedError } from './errors.js'

/** Returns `conflict`, the error of the first attempt, if another process holds the lock. */
export const refusedLock = async (conflict: unknown, file: string, isReadOnly: boolean): Promise<unknown> => {
  const name = await nameOfError(file, isReadOnly)
  // POSIX allows both of the first two for a lock that somebody else holds.
  if (name === null || name === 'EAGAIN') return conflict
  if (name === 'EACCES' && (lockHolder(conflict)?.pid ?? null) !== null) return conflict
  return new LockRefusedError(
    FAILURES.includes(name)
      ? `cannot lock ${file}: ${name}. Check the disk or the network share, then run again`
      : `cannot lock ${file}: this file system gives no locks (${name}). Use another volume, or a bucket`,
    { cause: conflict },
  )
}

/** Errors of file systems that have locks. */
const FAILURES: readonly string[] = ['EIO', 'ENOMEM', 'ESTALE', 'ETIMEDOUT', 'ENOTCONN', 'EHOSTDOWN']

/** Null if the lock can be set now, or if the attempt fails in another way. */
const nameOfError = async (file: string, isReadOnly: boolean): Promise<string | null> => {
  const instance = await DuckDBInstance.create(':memory:', { errors_as_json: 'true' })
  const connection = await instance.connect()
  try {
    await connection.run(`ATTACH ${literal(file)} AS held${isReadOnly ? ' (READ_ONLY)' : ''}`)
    return null
  } catch (error) {
    return numberIn(messageOf(error))
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

const withNumber = z.object({ errno: z.coerce.number() })

const numberIn = (text: string): string | null => {
  const parsed = withNumber.safeParse(parsedOf(text))
  if (!parsed.success) return null
  const { errno } = parsed.data
  return Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? `error ${errno}`
}

const parsedOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
