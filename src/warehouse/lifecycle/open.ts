/**
 * Opens the work database of a warehouse directory, in any state that the last run left: sets a damaged file aside, rebuilds a lost one
 * from the published state, and migrates it. Nothing needs a repair by hand.
 */
import { randomUUID } from 'node:crypto'
import { access, chmod, constants, lstat, open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.js'
import { hasCode, isSystemError, messageOf, WarehouseError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { makeDirectory } from '../../base/make-directory.js'
import { type Database, openDatabase } from '../connection/database.js'
import { duckdbError, firstLine, isDamage, isLockConflict, lockHolder } from '../connection/duckdb-error.js'
import { WarehouseDamagedError, WarehouseHeldError, WarehouseUnusableError } from '../connection/errors.js'
import { spillDirectory, workFile } from './files.js'
import { describeHolder, type Holder, isAlive, readHolder, removeHolder, writeHolder } from './holder.js'
import { hasCurrentSchema, migrate } from './migrations.js'
import { dropOtherViews, keepPlainData } from './plain-data.js'
import { type PublishedPlace, rebuild } from './rebuild.js'
import { schemaVersion } from './version.js'

interface OpenWarehouse {
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
  /** Names the holder in the error that a second process gets. */
  readonly command: string
  /** The published states from which a lost work database is rebuilt; none by default. */
  readonly published?: readonly PublishedPlace[]
  /** Called when this process holds the warehouse. */
  readonly onHeld?: () => Promise<void>
}

/**
 * Throws `WarehouseHeldError` if another process holds the warehouse, `WarehouseUnusableError` if it cannot be written, and
 * `warehouse_is_newer` if a newer version wrote it. Dispose of the database to release the lock.
 */
export const openWarehouse = async (options: OpenWarehouse): Promise<Database> => {
  const { directory, clock, log, command, published = [] } = options
  await requireWritable(directory)
  const database = await openWorkFile(directory, clock, log)
  const release = releaseOf(options, database)
  try {
    await writeHolder(directory, command, clock.nowMs()).catch(cannotWrite(directory))
    await options.onHeld?.()
    await database.exclusively((sql) => keepPlainData(sql, database.file, log)).catch(notOurs(database))
    const isCurrent = () => database.exclusively(hasCurrentSchema)
    if (!(await isCurrent())) {
      const isNew = (await database.exclusively(schemaVersion)) === 0
      if (isNew) await rebuild(database, published, log)
      if (!(await isCurrent())) await migrate(database, clock)
    } else if (await database.exclusively(dropOtherViews)) {
      log.warn({ file: database.file }, 'views were not those of this version, so they are created again')
      await migrate(database, clock)
    }
  } catch (error) {
    await release(error instanceof WarehouseDamagedError ? error : null)
    throw error
  }
  return withDamageTracked(database, release)
}

const notOurs =
  ({ file }: Database) =>
  (cause: unknown): never => {
    if (!(cause instanceof WarehouseUnusableError) || cause.cause !== undefined) throw cause
    throw new WarehouseUnusableError(
      `cannot use ${file}: ${cause.message}. Find out who did, and restore a state from before`,
      { cause },
    )
  }

/** Failures are only logged: the next run finds a note of a dead process, or the same damage, when it opens. */
const releaseOf =
  ({ directory, clock, log }: OpenWarehouse, database: Database) =>
  async (damage: WarehouseDamagedError | null): Promise<void> => {
    const warn = (what: string) => (error: unknown) =>
      log.warn({ problem: messageOf(error) }, `the warehouse is closed, but its ${what}`)
    await removeHolder(directory).catch(warn('holder note could not be removed'))
    await database.close()
    if (damage !== null)
      await setAside(database.file, damage, clock, log).catch(warn('damaged file could not be set aside'))
  }

/** Turns an error of a file operation in the warehouse directory into an error for people. */
export const cannotWrite =
  (directory: string) =>
  (cause: unknown): never => {
    if (!isSystemError(cause)) throw cause
    throw new WarehouseUnusableError(
      `cannot write to the warehouse directory ${directory}: ${messageOf(cause)}. Check that it is a directory, its permissions and the free space`,
      { cause },
    )
  }

/** Damage in the middle of a file shows only when this part is read. The error is passed to `release`, which sets the file aside. */
const withDamageTracked = (database: Database, release: ReturnType<typeof releaseOf>): Database => {
  let damage: WarehouseDamagedError | null = null
  const notice = (error: unknown): never => {
    if (error instanceof WarehouseDamagedError) damage = error
    throw error
  }
  const close = () => {
    const latest = damage
    damage = null
    return release(latest)
  }
  return {
    ...database,
    transaction: (work) => database.transaction(work).catch(notice),
    exclusively: (work) => database.exclusively(work).catch(notice),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Creates the directory and writes a file into it, to find problems before the run. Throws a `WarehouseUnusableError`. */
export const requireWritable = async (directory: string): Promise<void> => {
  const probe = join(directory, `.write-probe-${randomUUID()}`)
  try {
    await makeDirectory(directory)
    const handle = await open(probe, 'wx')
    try {
      // The file is removed while it is open, so a killed process leaves no file.
      await rm(probe)
      await handle.writeFile(Buffer.alloc(PROBE_BYTES))
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (error) {
    cannotWrite(directory)(error)
  }
}

/** Enough to detect a full disk before a request is sent. */
const PROBE_BYTES = 1_048_576

const openWorkFile = async (directory: string, clock: Clock, log: Log): Promise<Database> => {
  const file = workFile(directory)
  const before = await inode(file)
  await requireOwnFiles(file)
  try {
    return await openUnlessHeld(directory)
  } catch (error) {
    if (error instanceof WarehouseHeldError) throw error
    // DuckDB has created the file, and an empty file would count as damaged later.
    if (isLockRefused(error) && before === null) await rm(file, { force: true })
    if (!isDamage(error)) throw duckdbError(error, 'open', file)
    // Another process may have found the same damage and replaced the file, so the new file is intact.
    if (before === (await inode(file))) await setAside(file, error, clock, log)
    try {
      return await openUnlessHeld(directory)
    } catch (second) {
      throw duckdbError(second, 'open', file)
    }
  }
}

const isLockRefused = (error: unknown): boolean =>
  error instanceof WarehouseError && error.code === 'lock_refused'

/** Throws a `WarehouseHeldError` if another process of this machine has the work database open. */
export const requireNotHeld = async (directory: string): Promise<void> => {
  const file = workFile(directory)
  if ((await inode(file)) === null) return
  await requireOwnFiles(file)
  try {
    await using _database = await openUnlessHeld(directory)
  } catch (error) {
    if (error instanceof WarehouseHeldError) throw error
  }
}

const openUnlessHeld = async (directory: string): Promise<Database> => {
  try {
    const database = await openDatabase(workFile(directory), {
      temporaryDirectory: spillDirectory(directory),
      // The database publishes into this directory, and is rebuilt from it.
      directories: [directory],
      mayChangeSettings: true,
    })
    // Everybody who can read the file can hold its lock, and DuckDB creates the file with the rights of the umask. Some file systems have
    // no modes.
    await chmod(database.file, 0o600).catch(() => undefined)
    return database
  } catch (error) {
    if (!isLockConflict(error)) throw error
    const holder = nameOf(lockHolder(error), await readHolder(directory))
    throw new WarehouseHeldError(
      `the warehouse ${directory} is held by ${holder}. Wait for it to end, or use another directory`,
      { cause: error },
    )
  }
}

/** The holder in words. If a kill left the note, the lock may belong to a reader that opened this file by mistake. */
const nameOf = (lock: ReturnType<typeof lockHolder>, note: Holder | null): string => {
  if (note === null || !isAlive(note)) return lock?.name ?? describeHolder(note)
  if (lock === null || lock.pid === note.pid) return describeHolder(note)
  return lock.pid === null ? `${lock.name}: ${describeHolder(note)}` : lock.name
}

const inode = async (file: string): Promise<number | null> =>
  stat(file).then(
    (stats) => stats.ino,
    () => null,
  )

/**
 * Throws for a missing permission, and for a link or anything else that is not a file. Neither is damage, so neither must be set aside.
 * DuckDB would wait for a pipe for ever, and no signal would end that; and it would write through a link into the file of somebody else.
 */
const requireOwnFiles = async (workDatabase: string): Promise<void> => {
  for (const file of [workDatabase, `${workDatabase}.wal`]) await requireOwnFile(file)
}

const requireOwnFile = async (file: string): Promise<void> => {
  try {
    if (!(await lstat(file)).isFile()) throw new Error('it is not a file')
    await access(file, constants.R_OK | constants.W_OK)
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return
    throw new WarehouseUnusableError(
      `cannot open ${file}: ${messageOf(cause)}. Move it away, or use another directory`,
      { cause },
    )
  }
}

const setAside = async (file: string, error: unknown, clock: Clock, log: Log): Promise<void> => {
  const aside = `${file}.damaged-${new Date(clock.nowMs()).toISOString().replaceAll(':', '')}`
  await rename(file, aside)
  await rename(`${file}.wal`, `${aside}.wal`).catch((missing: unknown) => {
    log.debug({ problem: messageOf(missing) }, 'no write-ahead log beside the damaged work database')
  })
  log.warn({ file: aside, problem: firstLine(error) }, 'the work database was damaged and is set aside')
}
