/**
 * One DuckDB database on one connection. All work goes through `transaction`, one at a time: DuckDB would run
 * transactions side by side, but optimistic conflicts between our own would only have to be retried.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api'
import pLimit, { type LimitFunction } from 'p-limit'
import type { z } from 'zod'
import { throwIfAborted } from '../../base/clock.js'
import type { Column, TableDeclaration } from '../../model/columns.js'
import type { CellRow } from '../../model/warehouse.js'
import { appendTo, storedColumnsOf } from './append.js'
import { type Parameter, toDuckDB } from './cells.js'
import { createTemporary } from './ddl.js'
import { duckdbError } from './duckdb-error.js'
import { interrupted } from './interrupted.js'
import { STORAGE_COMPATIBILITY } from './storage-version.js'

/** What can be done inside a transaction. */
export interface Sql {
  run(sql: string, parameters?: readonly Parameter[]): Promise<void>
  /** Every row of the result, each parsed by `schema`. */
  rows<Row>(schema: z.ZodType<Row>, sql: string, parameters?: readonly Parameter[]): Promise<readonly Row[]>
  /** Puts rows into a temporary table that is made anew, with `columns`. */
  stage(temporaryTable: string, columns: readonly Column[], rows: readonly CellRow[]): Promise<void>
  /** Adds rows to a table, by the names of its columns; a cell that a row does not have is null. */
  insert(table: TableDeclaration, rows: readonly CellRow[]): Promise<void>
}

export interface Database extends AsyncDisposable {
  readonly file: string
  /** Runs `work` in a transaction: committed when it resolves, rolled back when it rejects. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Runs `work` with the connection to itself but outside of a transaction. */
  exclusively<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Runs `work`, whose statements end with an error as soon as `signal` aborts; not for what writes to this database. */
  interruptibly<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>
  /**
   * Copies the file as it is on the disk. What is to be in the copy must be checkpointed, and nothing may write meanwhile.
   * Rejects with the signal's reason when it aborts.
   */
  copyTo(target: string, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/**
 * Bounds and habits of every database we open: no extension is ever fetched at run time, sessions are in UTC, memory
 * stays within what a small pod has, and new files have the format that old readers know.
 */
const baseOptions = {
  // Without them each thread of Node that ever ran a statement keeps what that one took (npm run bench:export).
  allocator_background_threads: 'true',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  memory_limit: '1GB',
  storage_compatibility_version: STORAGE_COMPATIBILITY,
  threads: '2',
}

export interface OpenOptions {
  readonly readOnly?: boolean
  /** Where DuckDB may spill. */
  readonly temporaryDirectory?: string
  /** DuckDB's own memory at most, such as `112MB`. What needs more is spilled. 1 GB unless given. */
  readonly memoryLimit?: string
  /** 2 unless given. */
  readonly threads?: number
}

/** Opens (and creates, unless read-only) `file`. What DuckDB throws is passed on as it is. */
export const openDatabase = async (file: string, options: OpenOptions = {}): Promise<Database> => {
  const instance = await DuckDBInstance.create(file, {
    ...baseOptions,
    ...(options.readOnly === true ? { access_mode: 'READ_ONLY' } : {}),
    ...(options.temporaryDirectory === undefined ? {} : { temp_directory: options.temporaryDirectory }),
    ...(options.memoryLimit === undefined ? {} : { memory_limit: options.memoryLimit }),
    ...(options.threads === undefined ? {} : { threads: String(options.threads) }),
  })
  try {
    const connection = await instance.connect()
    await connection.run(`SET TimeZone = 'UTC'`)
    return onConnection(file, instance, connection)
  } catch (error) {
    instance.closeSync()
    throw error
  }
}

const onConnection = (file: string, instance: DuckDBInstance, connection: DuckDBConnection): Database => {
  const oneAtATime = pLimit(1)
  /**
   * Statements too: a work that fails may leave one under way, and a connection that is closed in the middle of a statement never
   * lets go of it. The process would not end.
   */
  const statement = pLimit(1)
  const sql = sqlOn(connection, statement)
  const reader = createFileReader(file)

  const guarded = <Result>(work: () => Promise<Result>): Promise<Result> =>
    oneAtATime(async () => {
      try {
        return await work()
      } catch (error) {
        throw duckdbError(error, 'write', file)
      }
    })

  const close = () =>
    oneAtATime(async () => {
      await statement(() => connection.closeSync())
      instance.closeSync()
      await reader.close()
    })

  return {
    file,
    transaction: (work) => guarded(() => inTransaction(sql, work)),
    exclusively: (work) => guarded(() => work(sql)),
    interruptibly: (signal, work) => interrupted(() => connection.interrupt(), signal, work),
    copyTo: reader.copyTo,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/**
 * Reads the file beside DuckDB. The system takes away a process's lock on a file as soon as the process closes any
 * descriptor of that file: so what was opened here stays open until DuckDB has closed its own. A stream on it would
 * close it when it is aborted, and is not used.
 */
const createFileReader = (file: string) => {
  let handle: FileHandle | null = null
  return {
    copyTo: async (target: string, signal: AbortSignal): Promise<void> => {
      handle ??= await open(file, 'r')
      await using output = await open(target, 'w')
      const chunk = Buffer.allocUnsafe(COPIED_AT_ONCE_BYTES)
      for (let position = 0; ; ) {
        throwIfAborted(signal)
        const { bytesRead } = await handle.read(chunk, 0, chunk.length, position)
        if (bytesRead === 0) return
        await output.writeFile(chunk.subarray(0, bytesRead))
        position += bytesRead
      }
    },
    close: async (): Promise<void> => {
      await handle?.close()
      handle = null
    },
  }
}

const COPIED_AT_ONCE_BYTES = 1_048_576

const inTransaction = async <Result>(sql: Sql, work: (sql: Sql) => Promise<Result>): Promise<Result> => {
  await sql.run('BEGIN TRANSACTION')
  try {
    const result = await work(sql)
    await sql.run('COMMIT')
    return result
  } catch (error) {
    // A failure that has closed the transaction, or the whole database, makes this fail too: the first one tells why.
    await sql.run('ROLLBACK').catch(() => undefined)
    throw error
  }
}

const sqlOn = (connection: DuckDBConnection, statement: LimitFunction): Sql => {
  const storedColumns = storedColumnsOf(connection)

  return {
    run: async (sql, parameters = []) => {
      await statement(() => connection.run(sql, bound(parameters)))
    },
    rows: async (schema, sql, parameters = []) => {
      const result = await statement(() => connection.runAndReadAll(sql, bound(parameters)))
      return result.getRowObjects().map((row) => schema.parse(row))
    },
    stage: (temporaryTable, columns, rows) =>
      statement(async () => {
        await connection.run(createTemporary(temporaryTable, columns))
        await appendTo(connection, { catalog: 'temp', schema: 'main', name: temporaryTable }, columns, rows)
      }),
    insert: (table, rows) =>
      statement(async () => {
        if (rows.length > 0) await appendTo(connection, table, await storedColumns(table), rows)
      }),
  }
}

/** Without parameters a statement goes to DuckDB in one piece, else in three: parsed, prepared, run. */
const bound = (parameters: readonly Parameter[]): DuckDBValue[] | undefined =>
  parameters.length === 0 ? undefined : parameters.map(toDuckDB)
