/**
 * Opens the work database of a warehouse directory, whatever the last run left behind: creates it, takes the lock,
 * replays what a kill left in the write-ahead log, sets a damaged file aside, rebuilds a lost one from the
 * published file, and migrates it. Nobody has to repair anything by hand.
 */
import { access, constants, open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.js'
import { messageOf } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { makeDirectory } from '../../base/make-directory.js'
import { type Database, openDatabase } from '../connection/database.js'
import { duckdbError, firstLine, isDamage, isLockConflict, lockHolder } from '../connection/duckdb-error.js'
import { WarehouseDamagedError, WarehouseHeldError, WarehouseUnusableError } from '../connection/errors.js'
import { spillDirectory, workFile } from './files.js'
import { describeHolder, isAlive, readHolder, removeHolder, writeHolder } from './holder.js'
import { migrate, schemaVersion } from './migrations.js'
import { type PublishedPlace, rebuild } from './rebuild.js'

export interface OpenWarehouse {
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
  /** Named as the holder to whoever comes second. */
  readonly command: string
  /** Where a work database that was lost is rebuilt from; nowhere unless given. */
  readonly published?: readonly PublishedPlace[]
}

/**
 * Throws `WarehouseHeldError` when another process has it, `WarehouseUnusableError` when it cannot be written, and
 * `NewerWarehouseError` when a newer version wrote it. Dispose of the database to let go of the lock.
 */
export const openWarehouse = async (options: OpenWarehouse): Promise<Database> => {
  const { directory, clock, log, command, published = [] } = options
  await probeWritable(directory)
  const database = await openWorkFile(directory, clock, log)
  const letGo = letGoOf(options, database)
  try {
    await writeHolder(directory, command, clock.nowMs()).catch(cannotWrite(directory))
    if ((await database.transaction(schemaVersion)) === 0) await rebuild(database, published, log)
    await migrate(database, clock)
  } catch (error) {
    await letGo(error instanceof WarehouseDamagedError ? error : null)
    throw error
  }
  return noticingDamage(database, letGo)
}

/**
 * Closes the database, and sets it aside where it is damaged. What fails on the way is told and passed over: why the run
 * ends is known already, and the next one meets a note that names nobody alive, or the same damage, when it opens.
 */
const letGoOf =
  ({ directory, clock, log }: OpenWarehouse, database: Database) =>
  async (damage: WarehouseDamagedError | null): Promise<void> => {
    const passOver = (error: unknown) =>
      log.warn({ problem: messageOf(error) }, 'the warehouse was closed, but not tidied up')
    await removeHolder(directory).catch(passOver)
    await database.close()
    if (damage !== null) await setAside(database.file, damage, clock, log).catch(passOver)
  }

const cannotWrite =
  (directory: string) =>
  (cause: unknown): never => {
    throw new WarehouseUnusableError(
      `cannot write to the warehouse directory ${directory}: ${messageOf(cause)}. Check that it is a directory, its permissions and the free space`,
      { cause },
    )
  }

/** Damage in the middle of a file shows only when that part is read: `close` is told, so that the next run begins well. */
const noticingDamage = (
  database: Database,
  closeAfter: (damage: WarehouseDamagedError | null) => Promise<void>,
): Database => {
  let damage: WarehouseDamagedError | null = null
  const notice = (error: unknown): never => {
    if (error instanceof WarehouseDamagedError) damage = error
    throw error
  }
  const close = () => {
    const found = damage
    damage = null
    return closeAfter(found)
  }
  return {
    ...database,
    transaction: (work) => database.transaction(work).catch(notice),
    exclusively: (work) => database.exclusively(work).catch(notice),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Creates the directory and writes a file into it, the way a run will: whatever stands in the way shows here. */
const probeWritable = async (directory: string): Promise<void> => {
  const probe = join(directory, `.write-probe-${process.pid}`)
  try {
    await makeDirectory(directory)
    const handle = await open(probe, 'w')
    try {
      await handle.writeFile(Buffer.alloc(PROBE_BYTES))
      await handle.sync()
    } finally {
      await handle.close()
      await rm(probe, { force: true })
    }
  } catch (error) {
    cannotWrite(directory)(error)
  }
}

/** Enough to notice a full disk before any request is spent. */
const PROBE_BYTES = 1_048_576

const openWorkFile = async (directory: string, clock: Clock, log: Log): Promise<Database> => {
  const file = workFile(directory)
  const before = await inode(file)
  // Before DuckDB opens it: a pipe in its place would never answer, and no signal would end the process.
  if (before !== null) await requireAccess(file)
  try {
    return await openUnlessHeld(directory)
  } catch (error) {
    if (error instanceof WarehouseHeldError) throw error
    if (!isDamage(error)) throw duckdbError(error, 'open', file)
    // Another process that found the same damage may have replaced it meanwhile: then what is there now is good.
    if (before === (await inode(file))) await setAside(file, error, clock, log)
    try {
      return await openUnlessHeld(directory)
    } catch (second) {
      throw duckdbError(second, 'open', file)
    }
  }
}

const openUnlessHeld = async (directory: string): Promise<Database> => {
  try {
    return await openDatabase(workFile(directory), { temporaryDirectory: spillDirectory(directory) })
  } catch (error) {
    if (!isLockConflict(error)) throw error
    const note = await readHolder(directory)
    // A note that a kill has left names nobody: the lock may be that of a reader who opened this file by mistake.
    const holder = note !== null && isAlive(note) ? describeHolder(note) : lockHolder(error)
    throw new WarehouseHeldError(
      `the warehouse ${directory} is held by ${holder ?? describeHolder(note)}. Wait for it to end, or use another directory`,
      { cause: error },
    )
  }
}

const inode = async (file: string): Promise<number | null> =>
  stat(file).then(
    (found) => found.ino,
    () => null,
  )

/** A file that we may not read and write, or that is none, is not damaged: it is not ours to set aside. */
const requireAccess = async (file: string): Promise<void> => {
  try {
    if (!(await stat(file)).isFile()) throw new Error('it is not a file')
    await access(file, constants.R_OK | constants.W_OK)
  } catch (cause) {
    throw new WarehouseUnusableError(
      `cannot open ${file}: ${messageOf(cause)}. Move away what is there, or use another directory`,
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
