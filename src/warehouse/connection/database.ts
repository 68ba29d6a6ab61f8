/** One DuckDB database on one connection. Transactions run one at a time, because conflicts between them would have to be retried. */
import { type FileHandle, open } from 'node:fs/promises'
import { setImmediate as eventsHandled } from 'node:timers/promises'
import type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance as Instance } from '@duckdb/node-api'
import pLimit from 'p-limit'
import { z } from 'zod'
import { parse } from '../../base/parse.js'
import { abortReason, onAbort, throwIfAborted } from '../../base/signals.js'
import type { Column, TableDeclaration } from '../../model/columns.js'
import type { CellRow } from '../../model/warehouse.js'
import { appendTo, storedColumnsOf } from './append.js'
import { bigintCell, fromDuckDB, type Parameter, toDuckDB, varcharCell } from './cells.js'
import { createTemporary, literal, withoutPattern } from './ddl.js'
import { DuckDBInstance } from './duckdb.js'
import { duckdbError, isInterrupt, isLockConflict, refusedLock } from './duckdb-error.js'
import { CutResultError } from './errors.js'

/** Values of `$name` in a statement. */
export type NamedParameters = Readonly<Record<string, Parameter>>

export interface Sql {
  run(sql: string, parameters?: readonly Parameter[]): Promise<void>
  rows<Row>(
    schema: z.ZodType<Row>,
    sql: string,
    parameters?: readonly Parameter[] | NamedParameters,
  ): Promise<readonly Row[]>
  /** Passes the rows of the result to `use` one by one. A long result is never in memory as a whole. */
  each<Row>(
    schema: z.ZodType<Row>,
    sql: string,
    parameters: readonly Parameter[],
    use: (row: Row) => void,
  ): Promise<void>
  /**
   * The rows of a large result in batches. Each batch is read, and each row converted, when the caller takes it. A row is an array of cells
   * in the order of the columns. Call it in a transaction, because DuckDB's client ends a result that fails after its first rows as a
   * complete one, and only the transaction shows the failure. Throws `CutResultError` then.
   */
  batches<Row>(
    schema: z.ZodType<Row>,
    sql: string,
    parameters?: NamedParameters,
  ): AsyncIterable<Iterable<Row>>
  /** Puts rows into a new temporary table with `columns`, which replaces an older one of the same name. */
  stage(temporaryTable: string, columns: readonly Column[], rows: readonly CellRow[]): Promise<void>
  /** Adds rows to a table. A missing cell becomes null. */
  insert(table: TableDeclaration, rows: readonly CellRow[]): Promise<void>
}

export interface AccountSql extends Sql {
  readonly account: string
}

const countedRow = z.object({ Count: bigintCell.nullable() })

/** The number that a statement selects as `Count`, or the number of rows that it changes; 0 for null or no row. */
export const countOf = async (
  { rows }: Pick<Sql, 'rows'>,
  statement: string,
  parameters?: readonly Parameter[],
): Promise<number> => {
  const [counted] = await rows(countedRow, statement, parameters)
  return counted?.Count ?? 0
}

/**
 * The columns of all tables and views for which `condition` is true, such as `main.surveys.title`. Temporary tables and views are included.
 */
export const columnPaths = async (sql: Sql, condition = 'true'): Promise<ReadonlySet<string>> => {
  const rows = await sql.rows(
    z.object({ path: varcharCell }),
    `SELECT concat_ws('.', schema_name, table_name, column_name) AS path FROM duckdb_columns()
      WHERE database_name IN (current_database(), 'temp') AND NOT internal AND ${condition}`,
  )
  return new Set(rows.map(({ path }) => path))
}

/** Runs `work` while another database file is attached as `other`. */
export const attached = async <Result>(
  sql: Sql,
  other: string,
  work: () => Promise<Result>,
): Promise<Result> => {
  await sql.run(`ATTACH ${other}`)
  try {
    return await work()
  } finally {
    await sql.run('DETACH other')
  }
}

export interface Database extends AsyncDisposable {
  readonly file: string
  /** Runs `work` in a transaction: committed when it resolves, rolled back when it rejects. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Runs `work` alone on the connection, but outside of a transaction. */
  exclusively<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Runs `work`. When `signal` aborts, its statements reject with the signal's reason. Not for work that writes to this database. */
  interruptibly<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>
  /**
   * Copies the file as it is on the disk. Call it after a checkpoint, and write nothing during the copy. Rejects with the signal's reason.
   */
  copyTo(target: string, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** No extension is downloaded at run time, the memory fits into a small pod, and old readers can open new files. */
const baseOptions = {
  // Without these threads of the allocator, each Node thread that ever ran a statement keeps its memory (npm run bench -- export).
  allocator_background_threads: 'true',
  // Freed memory goes back sooner than at 128 MB. Otherwise a view that is read after a large table takes 60 MiB more.
  allocator_flush_threshold: '32MB',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  // The threshold counts the log and a far too high estimate of the changed row groups, which a checkpoint rewrites.
  checkpoint_threshold: '128MB',
  // Pages stay in memory up to this limit. A higher limit does not help: a night on 1,000,000 surveys takes the same CPU time.
  memory_limit: '256MB',
  // This version and every later one can read our files (docs/decisions/publish.md#0042-the-format-of-the-published-file-is-pinned).
  storage_compatibility_version: 'v0.10.2',
  // Otherwise DuckDB 1.1 to 1.4 cannot open a file in which a table had no changes since the last checkpoint (decision 0042).
  experimental_metadata_reuse: 'false',
}

/** DuckDB's name of this storage format. */
export const STORAGE_FORMAT = 'v1.0.0+'

export interface OpenOptions {
  readonly readOnly?: boolean
  /** The directory to which DuckDB may spill. */
  readonly temporaryDirectory?: string
  /** The most memory of DuckDB, such as `112MB`; 256 MB by default. Larger operations spill to disk. */
  readonly memoryLimit?: string
  /**
   * Threads of DuckDB, 1 by default: a job in the night waits for requests, not for DuckDB. A command for which somebody waits takes 2
   * (docs/decisions/export-and-sql.md#0104-who-waits-for-an-answer-gets-a-second-thread).
   */
  readonly threads?: 1 | 2
  /** The most bytes that may be spilled, such as `4GB`; by default 90 % of the free space. */
  readonly spillLimit?: string
  /** Beside the database itself, statements may open files below these directories, and these files. */
  readonly directories?: readonly string[]
  readonly files?: readonly string[]
  /** Whether statements may change settings that open no file: `COPY FROM DATABASE` changes one. False by default. */
  readonly mayChangeSettings?: boolean
}

/**
 * Opens `file`, and creates it unless read-only. Sessions are in UTC. Another program may have written the file. So no statement, view or
 * macro in the file can reach another file, a network or an extension, and none can change these restrictions
 * (docs/decisions/warehouse.md#0090-a-database-is-data-not-a-program). Throws the errors of DuckDB unchanged, or an error `lock_refused` if
 * the file cannot be locked although nobody holds it.
 */
export const openDatabase = async (file: string, options: OpenOptions = {}): Promise<Database> => {
  const { readOnly = false, temporaryDirectory, memoryLimit, threads = 1 } = options
  const instance = await DuckDBInstance.create(file, {
    ...baseOptions,
    threads: String(threads),
    ...(readOnly ? { access_mode: 'READ_ONLY' } : {}),
    ...(temporaryDirectory === undefined ? {} : { temp_directory: temporaryDirectory }),
    ...(memoryLimit === undefined ? {} : { memory_limit: memoryLimit }),
  }).catch(async (error: unknown) => {
    throw isLockConflict(error) ? await refusedLock(error, file, readOnly) : error
  })
  try {
    const connection = await instance.connect()
    await connection.run(sessionSettings(options))
    return onConnection(file, instance, connection)
  } catch (error) {
    instance.closeSync()
    throw error
  }
}

/** DuckDB resolves links before it compares a path. These settings cannot be taken back, even if the settings are not locked. */
const sessionSettings = ({
  directories = [],
  files = [],
  mayChangeSettings = false,
  spillLimit,
}: OpenOptions): string =>
  [
    `SET TimeZone = 'UTC'`,
    // By default DuckDB reads 1 MB of a result's rows ahead.
    `SET streaming_buffer_size = '100KB'`,
    // By default an ASOF join is a loop where DuckDB expects few rows, and of views it may expect far too few.
    'SET asof_loop_join_threshold = 0',
    // DuckDB ignores this limit among the options of a new instance.
    ...(spillLimit === undefined ? [] : [`SET max_temp_directory_size = ${literal(spillLimit)}`]),
    // In a pattern, a statement has the escaped path.
    `SET allowed_directories = ${list(directories.flatMap((path) => [path, withoutPattern(path)]))}`,
    `SET allowed_paths = ${list(files)}`,
    'SET enable_external_access = false',
    ...(mayChangeSettings ? [] : ['SET lock_configuration = true']),
  ].join(';')

const list = (paths: readonly string[]): string => `[${paths.map(literal).join(', ')}]`

const onConnection = (file: string, instance: Instance, connection: DuckDBConnection): Database => {
  const oneAtATime = pLimit(1)
  /** Failed work may leave a statement running (docs/decisions/warehouse.md#0030-a-connection-is-closed-after-its-last-statement). */
  const oneStatement = pLimit(1)
  let stopping: AbortSignal | null = null
  const statement: Statement = (work) =>
    oneStatement(async () => {
      try {
        return await work()
      } catch (error) {
        const mayBeStop = isInterrupt(error) || error instanceof CutResultError
        throw stopping?.aborted === true && mayBeStop ? abortReason(stopping) : error
      }
    })
  const sql = sqlOn(connection, statement, () => stopping !== null && throwIfAborted(stopping))
  /**
   * A second descriptor of the file, for reading beside DuckDB. When a process closes any descriptor of a file, the system releases all
   * locks of the process on this file. So this descriptor stays open until DuckDB has closed its own. We do not use a stream, because an
   * aborted stream closes its descriptor.
   */
  let reader: FileHandle | null = null

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
      await reader?.close()
      reader = null
    })

  return {
    file,
    transaction: (work) => guarded(() => inTransaction(sql, work)),
    exclusively: (work) => guarded(() => work(sql)),
    interruptibly: async (signal, work) => {
      throwIfAborted(signal)
      stopping = signal
      const interrupt = () => connection.interrupt()
      let interval: NodeJS.Timeout | undefined
      using _listening = onAbort([signal], () => {
        interrupt()
        // Repeated, because DuckDB ignores an interrupt that comes before a statement has begun.
        interval = setInterval(interrupt, INTERRUPT_EVERY_MS)
      })
      try {
        return await work()
      } finally {
        clearInterval(interval)
        stopping = null
      }
    },
    copyTo: async (target, signal) => {
      reader ??= await open(file, 'r')
      await copyFrom(reader, target, signal)
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

const copyFrom = async (source: FileHandle, target: string, signal: AbortSignal): Promise<void> => {
  await using output = await open(target, 'wx')
  const chunk = Buffer.allocUnsafe(COPIED_AT_ONCE_BYTES)
  for (let position = 0; ; ) {
    throwIfAborted(signal)
    const { bytesRead } = await source.read(chunk, 0, chunk.length, position)
    if (bytesRead === 0) return
    await output.writeFile(chunk.subarray(0, bytesRead))
    position += bytesRead
  }
}

const COPIED_AT_ONCE_BYTES = 1_048_576
const INTERRUPT_EVERY_MS = 20

export const inTransaction = async <Result>(
  sql: Sql,
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> => {
  await sql.run('BEGIN TRANSACTION')
  try {
    const result = await work(sql)
    await sql.run('COMMIT')
    return result
  } catch (error) {
    // If the failure has closed the transaction or the database, the rollback fails too. The first error is the cause.
    await sql.run('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/** Runs one statement, after all earlier ones. */
type Statement = <Result>(work: () => Result | Promise<Result>) => Promise<Result>

const sqlOn = (connection: DuckDBConnection, statement: Statement, throwIfStopped: () => unknown): Sql => {
  const storedColumns = storedColumnsOf(connection)

  return {
    run: async (sql, parameters = []) => {
      await statement(() => connection.run(sql, bound(parameters)))
    },
    rows: async (schema, sql, parameters = []) => {
      const result = await statement(() => connection.runAndReadAll(sql, bound(parameters)))
      const rowObjects = result.convertRowObjects(fromDuckDB)
      // zod compiles a schema at its first use, which takes longer than a few rows.
      const jitless = rowObjects.length < COMPILED_FROM_ROWS
      return rowObjects.map((row) => parse(schema, row, ROW, { jitless }))
    },
    each: (schema, sql, parameters, use) =>
      statement(async () => {
        const result = await connection.stream(sql, bound(parameters))
        for await (const rows of result.yieldConvertedRowObjects(fromDuckDB)) {
          // Converting 2,048 rows takes as long as using them, so events are handled in between.
          await eventsHandled()
          for (const row of rows) use(parse(schema, row, ROW))
        }
        await requireComplete(connection)
      }),
    async *batches(schema, sql, parameters = {}) {
      const result = await statement(() => connection.stream(sql, bound(parameters)))
      for (;;) {
        // A caller may stop between two batches, so other statements wait only while a batch is being read.
        const chunk = await statement(() => result.fetchChunk())
        // After an interrupt between two batches, the result looks as if it had ended.
        throwIfStopped()
        if (chunk === null || chunk.rowCount === 0) return await statement(() => requireComplete(connection))
        yield convertedRows(schema, chunk)
      }
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

const requireComplete = async (connection: DuckDBConnection): Promise<void> => {
  try {
    await connection.run('SELECT 1')
  } catch (error) {
    throw new CutResultError(error)
  }
}

function* convertedRows<Row>(schema: z.ZodType<Row>, chunk: DuckDBDataChunk): Iterable<Row> {
  for (let row = 0; row < chunk.rowCount; row += 1)
    yield parse(schema, chunk.convertRowValues(row, fromDuckDB), ROW)
}

const COMPILED_FROM_ROWS = 50
const ROW = 'a row of the warehouse'

/** Undefined without parameters: then DuckDB runs a statement in one step. With parameters it parses, prepares and runs it. */
const bound = (parameters: readonly Parameter[] | NamedParameters) => {
  if (isList(parameters)) return parameters.length === 0 ? undefined : parameters.map(toDuckDB)
  const named = Object.entries(parameters).map(([name, value]) => [name, toDuckDB(value)] as const)
  return named.length === 0 ? undefined : Object.fromEntries(named)
}

const isList = (parameters: readonly Parameter[] | NamedParameters): parameters is readonly Parameter[] =>
  Array.isArray(parameters)
