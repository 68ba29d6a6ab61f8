/**
 * Publishes the committed state as `fieldwork.duckdb`, the file that readers open. The work database is checkpointed and copied, the copy
 * is proved readable, and a rename shows it to readers. Nobody may write the file, because a reader that opens it for writing locks out all
 * others (docs/decisions/publish.md#0041-nobody-may-write-the-published-file).
 */
import { stat } from 'node:fs/promises'
import { z } from 'zod'
import { messageOf } from '../base/errors.js'
import { throwIfAborted } from '../base/signals.js'
import type { TableDeclaration } from '../model/columns.js'
import { publishedPath } from '../model/publish-formats.js'
import type { Publisher } from '../model/warehouse.js'
import { bigintCell } from '../warehouse/connection/cells.js'
import {
  attached,
  countOf,
  type Database,
  inTransaction,
  type OpenOptions,
  openDatabase,
  type Sql,
  STORAGE_FORMAT,
} from '../warehouse/connection/database.js'
import { createTable, literal, qualified, quote } from '../warehouse/connection/ddl.js'
import { duckdbCause } from '../warehouse/connection/duckdb-error.js'
import { WarehouseDamagedError } from '../warehouse/connection/errors.js'
import { plainTablesOfOther, requirePlainData } from '../warehouse/lifecycle/plain-data.js'
import type { PublishedState } from '../warehouse/lifecycle/rebuild.js'
import type { FileSystemLacks } from './file-system-lacks.js'
import { publishError } from './publish-error.js'
import {
  ifMissing,
  protectFromWriting,
  replaceFile,
  sweepTemporaries,
  syncToDisk,
  temporaryBeside,
} from './replace-file.js'

/** Throws `WarehouseUnusableError` if it cannot publish. The published file is then unchanged, unless the error is an `UnsyncedError`. */
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
      // The first failure is reported. A file that cannot be removed now is removed by the next publish.
      const leftover = await sweepTemporaries(target).then(
        () => '',
        (second: unknown) => `, which also removes ${temporary} (${messageOf(second)})`,
      )
      const failure = publishError(error, target, 'The published file', leftover)
      // After a signal, errors of interrupted statements do not count. Damage counts, because the file must be set aside.
      if (failure !== error && !replacing && !(error instanceof WarehouseDamagedError)) throwIfAborted(signal)
      throw failure
    }
  },
})

/**
 * A copy of the committed state in a file of its own, proved to be readable. A publish shows it to readers
 * (docs/decisions/publish.md#0040-readers-open-a-published-copy). `file` must not exist before the call, and may exist after a failure.
 * Rejects with the signal's reason or with the errors of system and DuckDB.
 */
export const copyProved = (database: Database, file: string, signal: AbortSignal): Promise<void> =>
  // We hold the only connection, so nothing is written between the checkpoint and the end of the copy.
  database.exclusively(async (sql) => {
    // No signal interrupts the checkpoint, because DuckDB does not stop during a checkpoint.
    await sql.run('CHECKPOINT')
    const { bytes, free, format } = await stateOf(sql)
    // DuckDB files do not shrink by themselves, so only the rows are copied when more than half of the file is free. The rows are also
    // copied if another version of DuckDB made the work database, because a file keeps its storage format.
    if (free * 2 > bytes || format !== STORAGE_FORMAT) await copyCompacted(database, sql, file, signal)
    else await database.copyTo(file, signal)
    await proveReadable(database, sql, file, signal)
  })

/**
 * The bytes of all blocks of the work database and of its free blocks, and the storage format. The header of the file may count more
 * blocks, because DuckDB writes the header before it cuts off the free blocks at the end.
 */
const stateOf = async (sql: Sql) => {
  const [state] = await sql.rows(
    z.object({ bytes: bigintCell, free: bigintCell, format: z.string() }),
    `SELECT total_blocks * block_size AS bytes, free_blocks * block_size AS free, d.tags['storage_version'] AS format
      FROM pragma_database_size() JOIN duckdb_databases() d USING (database_name) WHERE database_name = current_database()`,
  )
  return state ?? { bytes: Number.POSITIVE_INFINITY, free: 0, format: STORAGE_FORMAT }
}

const copyCompacted = (database: Database, sql: Sql, temporary: string, signal: AbortSignal) =>
  attached(sql, `${literal(temporary)} AS other`, () =>
    database.interruptibly(signal, () => sql.run('COPY FROM DATABASE "work" TO other')),
  )

/**
 * Opens the copy like a reader, and reads all of its rows, so that DuckDB checks their blocks. Otherwise a damaged block that the run did
 * not read would replace the intact published file, from which the work database is rebuilt. Damage in the copy is reported as damage of
 * the work database. Reading leaves no `.wal`, because the copy was checkpointed.
 */
const proveReadable = async (database: Database, sql: Sql, file: string, signal: AbortSignal) => {
  try {
    // Another instance of DuckDB would take 25 ms of CPU more.
    await attached(sql, `${literal(file)} AS other (READ_ONLY)`, async () => {
      await sql.run('USE other')
      try {
        await database.interruptibly(signal, async () => {
          await sql.rows(
            z.object({ surveys: bigintCell }),
            'SELECT count(*) AS surveys FROM main.survey_overview',
          )
          await readTables(sql, signal)
        })
      } finally {
        await sql.run('USE "work"')
      }
    })
  } catch (error) {
    throw duckdbCause(error)
  }
}

/**
 * Reads every block of every table. Views are not read, because another program may have written them. DuckDB compares each block with its
 * checksum.
 */
export const readTables = async (sql: Sql, signal: AbortSignal): Promise<void> => {
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

/** `fieldwork.duckdb`, from which an empty work database can be filled. */
export const findPublishedFile = async (
  directory: string,
  database: Database,
): Promise<readonly PublishedState[]> => {
  const path = publishedPath(directory, 'duckdb')
  const stats = await stat(path).catch(ifMissing)
  if (stats === null) return []
  // Opening a pipe, for example, would never end.
  if (!stats.isFile()) throw new Error('it is not a file')
  return [{ path, what: 'the published file', ...stateInFile(database, path) }]
}

/** The state in a database file, from which the empty `database` can be filled. Only the rows of the tables are taken from the file. */
export const stateInFile = (database: Database, path: string): Pick<PublishedState, 'countRuns' | 'fill'> => {
  const reading = <Result>(work: (sql: Sql, tables: readonly TableDeclaration[]) => Promise<Result>) =>
    database.exclusively((sql) =>
      attached(sql, `${literal(path)} AS other (READ_ONLY)`, async () =>
        work(sql, await plainTablesOfOther(sql, path)),
      ),
    )
  return {
    countRuns: () => reading((sql) => countOf(sql, 'SELECT count(*) AS "Count" FROM other._sync.runs')),
    fill: () =>
      reading((sql, tables) =>
        inTransaction(sql, async () => {
          await sql.run('CREATE SCHEMA _sync')
          for (const table of tables) {
            await sql.run(createTable(table))
            await sql.run(`INSERT INTO ${qualified(table)} FROM other.${qualified(table)}`)
          }
        }),
      ),
  }
}

/**
 * Opens a published file read-only. Throws like `openDatabase`, `WarehouseUnusableError` if it holds more than data, and
 * `warehouse_is_newer`.
 */
export const openPublishedFile = async (path: string, options: OpenOptions = {}): Promise<Database> => {
  const database = await openDatabase(path, { ...options, readOnly: true })
  try {
    await database.exclusively((sql) => requirePlainData(sql, path))
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}
