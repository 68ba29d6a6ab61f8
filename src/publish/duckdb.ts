/**
 * Publishes the committed state as `fieldwork.duckdb`, the file that readers open. The work database is checkpointed and copied,
 * the copy is proved readable, and a rename puts it in place (docs/decisions/0040-readers-get-a-copy.md). Nobody may write the
 * file, because a reader that opens it for writing locks out all others (docs/decisions/0041-published-file-is-read-only.md).
 */
import { rm, stat } from 'node:fs/promises'
import { z } from 'zod'
import { throwIfAborted } from '../base/clock.js'
import { messageOf, WarehouseError } from '../base/errors.js'
import type { Log } from '../base/log.js'
import { publishedPath } from '../model/publish-formats.js'
import type { Publisher } from '../model/warehouse.js'
import { bigintCell } from '../warehouse/connection/cells.js'
import { type Database, openDatabase, type Sql } from '../warehouse/connection/database.js'
import { literal, quote } from '../warehouse/connection/ddl.js'
import { duckdbCause } from '../warehouse/connection/duckdb-error.js'
import { WarehouseDamagedError, WarehouseUnusableError } from '../warehouse/connection/errors.js'
import { STORAGE_VERSION, storageVersionOf } from '../warehouse/connection/storage-version.js'
import { haveBlocksChecksums } from './block-checksums.js'
import {
  protectFromWriting,
  replaceFile,
  sweepTemporaries,
  syncToDisk,
  temporaryBeside,
} from './replace-file.js'

/** Throws `WarehouseUnusableError` if it cannot publish. The published file is then untouched. */
export const createDuckdbPublisher = (database: Database, directory: string, log: Log): Publisher => ({
  format: 'duckdb',
  publish: async (signal) => {
    const target = publishedPath(directory, 'duckdb')
    const temporary = temporaryBeside(target)
    let replacing = false
    try {
      throwIfAborted(signal)
      await sweepTemporaries(target)
      await copyCommitted(database, temporary, signal)
      await proveReadable(database, temporary, signal)
      if (!(await protectFromWriting(temporary)))
        log.warn(
          { file: target },
          'this file system keeps no file modes: the published file can be opened for writing, which locks out all other readers',
        )
      await syncToDisk(temporary)
      throwIfAborted(signal)
      replacing = true
      await replaceFile(temporary, target)
      return { format: 'duckdb', path: target, bytes: (await stat(target)).size }
    } catch (error) {
      // The first failure is reported. The next publish removes a file that cannot be removed now.
      const leftover = await sweepTemporaries(target).then(
        () => '',
        (second: unknown) => `, which also removes ${temporary} (${messageOf(second)})`,
      )
      if (error instanceof WarehouseError && !(error instanceof WarehouseUnusableError)) throw error
      // After a signal, the errors of interrupted statements do not count. Damage does: the file must be set aside.
      if (!replacing && !(error instanceof WarehouseDamagedError)) throwIfAborted(signal)
      throw new WarehouseUnusableError(
        `cannot publish ${target}: ${messageOf(error)}. The published state is unchanged; the next run publishes again${leftover}`,
        { cause: error },
      )
    }
  },
})

/**
 * We hold the only connection, so nothing is written between the checkpoint and the end of the copy. No signal interrupts the
 * checkpoint: DuckDB does not stop in one.
 */
const copyCommitted = (database: Database, temporary: string, signal: AbortSignal): Promise<void> =>
  database.exclusively(async (sql) => {
    await sql.run('CHECKPOINT')
    if (!(await mostlyFree(sql))) {
      await database.copyTo(temporary, signal)
      if ((await storageVersionOf(temporary)) === STORAGE_VERSION) return
      // Another DuckDB made the work database. A file keeps its format until its rows are copied.
      await rm(temporary)
    }
    await copyCompacted(database, sql, temporary, signal)
  })

/** Whether more than half of the file is free: DuckDB files do not shrink by themselves. */
const mostlyFree = async (sql: Sql): Promise<boolean> => {
  const [size] = await sql.rows(
    z.object({ total: bigintCell, free: bigintCell }),
    `SELECT total_blocks AS total, free_blocks AS free FROM pragma_database_size()
      WHERE database_name = current_database()`,
  )
  return size !== undefined && size.free * 2 > size.total
}

const copyCompacted = async (
  database: Database,
  sql: Sql,
  temporary: string,
  signal: AbortSignal,
): Promise<void> => {
  await sql.run(`ATTACH ${literal(temporary)} AS compacted`)
  try {
    await database.interruptibly(signal, () => sql.run('COPY FROM DATABASE "work" TO compacted'))
  } finally {
    await sql.run('DETACH compacted')
  }
}

/**
 * Opens the copy as a reader does, and checks every block of it. Otherwise a damaged block that the run did not read would replace
 * the intact published file, from which the work database is rebuilt. Damage in the copy is reported as damage of the work
 * database. Reading leaves no `.wal`, because the copy was checkpointed.
 */
const proveReadable = (database: Database, file: string, signal: AbortSignal): Promise<void> =>
  database.exclusively(async (sql) => {
    try {
      const { size } = await stat(file)
      const isProved = size >= (await bytesOf(sql)) && (await haveBlocksChecksums(file, signal))
      await using copy = await openDatabase(file, { readOnly: true })
      await copy.exclusively(async (reader) => {
        await reader.run('SELECT * FROM main.survey_overview LIMIT 0')
        // A block without its checksum is damaged or free. A compacted copy is smaller. DuckDB reads every block that it uses.
        if (!isProved) await copy.interruptibly(signal, () => readEverything(reader, signal))
      })
    } catch (error) {
      throw duckdbCause(error)
    }
  })

/**
 * The bytes of all blocks of the work database. The header of the file may count more, because DuckDB writes it before it cuts off
 * the free blocks at the end.
 */
const bytesOf = async (sql: Sql): Promise<number> => {
  const [size] = await sql.rows(
    z.object({ bytes: bigintCell }),
    `SELECT total_blocks * block_size AS bytes FROM pragma_database_size() WHERE database_name = current_database()`,
  )
  return size?.bytes ?? Number.POSITIVE_INFINITY
}

const readEverything = async (sql: Sql, signal: AbortSignal): Promise<void> => {
  await sql.rows(z.object({ surveys: bigintCell }), 'SELECT count(*) AS surveys FROM main.survey_overview')
  const tables = await sql.rows(
    z.object({ schema_name: z.string(), table_name: z.string() }),
    'SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database()',
  )
  throwIfAborted(signal)
  const read = tables.map(
    ({ schema_name, table_name }) =>
      `SELECT max(hash(every_column)) AS read FROM ${quote(schema_name)}.${quote(table_name)} AS every_column`,
  )
  await sql.rows(z.object({ read: z.unknown() }), read.join(' UNION ALL '))
}
