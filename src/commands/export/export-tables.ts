/** Exports tables of one published state as Parquet or CSV files. It reads only published files, so it works while a sync runs. */
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type Clock, throwIfAborted } from '../../base/clock.js'
import { isStop } from '../../base/errors.js'
import { nearest } from '../../base/suggest.js'
import { packageVersion } from '../../base/version.js'
import type { Column, TableDeclaration } from '../../model/columns.js'
import { ALL_TABLES, tableName } from '../../model/sync-tables.js'
import { checksum } from '../../publish/parquet/manifest.js'
import { withoutPattern } from '../../publish/parquet/sql.js'
import { bigintCell, varcharCell } from '../../warehouse/connection/cells.js'
import type { Database, OpenOptions, Sql } from '../../warehouse/connection/database.js'
import { literal } from '../../warehouse/connection/ddl.js'
import { firstLine, unreadable } from '../../warehouse/connection/duckdb-error.js'
import { appliesTo, bad, conditionError, requireExpression } from './condition.js'
import { ExportFailedError, ExportRequestError } from './errors.js'
import { type CopyTable, copyTable, type ExportFormat, relation } from './sql.js'
import { type ExportManifest, replaceDirectory } from './target.js'

export interface Export {
  /** Path of the published state; `open` opens it read-only. */
  readonly source: string
  readonly open: (options: OpenOptions) => Promise<Database>
  /** Directories from which the opened source reads more files. */
  readonly sourceDirectories: readonly string[]
  /** Absolute path. */
  readonly out: string
  readonly format: ExportFormat
  /** Such as `surveys` or `_sync.runs`; null for all tables outside `_sync`. */
  readonly tables: readonly string[] | null
  readonly condition: string | null
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Throws `ExportRequestError` for a wrong request, `ExportFailedError` or `WarehouseUnusableError` if it cannot read or write. */
export const exportTables = async (options: Export): Promise<ExportManifest> => {
  const tables = requestedTables(options.tables)
  return await replaceDirectory(options.out, (directory) => exportInto(directory, options, tables)).catch(
    (error: unknown) => {
      if (isStop(error)) throw error
      throwIfAborted(options.signal)
      throw error
    },
  )
}

/**
 * DuckDB sorts each table by key and spills the rows that do not fit into this memory. See docs/decisions/0050-export-sorts-on-disk.md.
 */
const SMALL_MEMORY = { memoryLimit: '112MB' } satisfies OpenOptions
const SPILL = 'spill'

/** Spills into the directory of the export, which is writable. Closes the database before the directory is renamed. */
const exportInto = async (
  directory: string,
  options: Export,
  requested: readonly TableDeclaration[],
): Promise<ExportManifest> => {
  const temporaryDirectory = join(directory, SPILL)
  try {
    await using database = await options
      .open({ ...SMALL_MEMORY, temporaryDirectory })
      .catch((error: unknown) => {
        throw unreadable(options.source, error)
      })
    return await database.transaction((sql) =>
      database.interruptibly(options.signal, () => write(options, sql, directory, requested)),
    )
  } finally {
    await rm(temporaryDirectory, { recursive: true, force: true })
  }
}

const requestedTables = (names: readonly string[] | null): readonly TableDeclaration[] => {
  if (names === null) return ALL_TABLES.filter(({ schema }) => schema === 'main')
  const known = ALL_TABLES.map(tableName)
  const problems = names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = nearest(name, known) ?? known.find((full) => full === `_sync.${name}`) ?? null
      return `there is no table ${name}${meant === null ? '' : `: did you mean ${meant}?`}`
    })
  if (problems.length > 0 || names.length === 0)
    throw new ExportRequestError(
      `--tables: ${problems.length > 0 ? problems.join('; ') : 'names no table'} (fieldwork-sync schema lists them)`,
    )
  return ALL_TABLES.filter((table) => names.includes(tableName(table)))
}

const write = async (
  options: Export,
  sql: Sql,
  directory: string,
  requested: readonly TableDeclaration[],
): Promise<ExportManifest> => {
  const { sourceDirectories } = options
  // A source path is a pattern. DuckDB checks both the pattern and the path that matches it against the list.
  await confine(sql, [directory, ...sourceDirectories, ...sourceDirectories.map(withoutPattern)])
  const found = await findTables(sql, requested, options)
  const filtered = await filteredTables(sql, found, options.condition)
  const tables: ExportManifest['tables'] = []
  for (const { table, columns } of found) {
    throwIfAborted(options.signal)
    const file = `${tableName(table)}.${options.format}`
    const condition = filtered.has(table) ? options.condition : null
    const path = join(directory, file)
    const rows = await copy(
      sql,
      { table, columns, condition, format: options.format, file: path },
      options.out,
    )
    tables.push({
      table: tableName(table),
      file,
      rows,
      bytes: (await stat(path)).size,
      sha256: await checksum(path),
      filtered: condition !== null,
    })
  }
  return {
    fieldwork_sync_export: 1,
    program: packageVersion(),
    exported_at: new Date(options.clock.nowMs()).toISOString(),
    source: options.source,
    run_id: await lastRun(sql),
    format: options.format,
    where: options.condition,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    tables,
  }
}

/** After this, the connection opens no file outside these directories, and no condition can change that. */
const confine = async (sql: Sql, directories: readonly string[]): Promise<void> => {
  await sql.run(`SET allowed_directories = [${directories.map(literal).join(', ')}]`)
  await sql.run('SET enable_external_access = false')
  await sql.run('SET lock_configuration = true')
}

interface FoundTable {
  readonly table: TableDeclaration
  readonly columns: readonly Column[]
}

/** The published tables with their published columns. A state of an older version lacks newer tables and columns. */
const findTables = async (
  sql: Sql,
  requested: readonly TableDeclaration[],
  { tables, source }: Export,
): Promise<readonly FoundTable[]> => {
  const rows = await sql.rows(
    z.object({ path: varcharCell }),
    `SELECT concat_ws('.', schema_name, table_name, column_name) AS path FROM duckdb_columns()
      WHERE database_name = current_database() AND NOT internal`,
  )
  const paths = new Set(rows.map(({ path }) => path))
  const found = requested.map((table) => ({
    table,
    columns: table.columns.filter(({ name }) => paths.has(`${table.schema}.${table.name}.${name}`)),
  }))
  const absent = found.find(({ columns }) => columns.length === 0)
  if (tables !== null && absent !== undefined)
    throw new ExportRequestError(
      `--tables: ${tableName(absent.table)} is not in ${source}, which an older fieldwork-sync published. Run fieldwork-sync sync first`,
    )
  return found.filter(({ columns }) => columns.length > 0)
}

/** The tables that have all columns of the condition. Throws `ExportRequestError` if there are none. */
const filteredTables = async (
  sql: Sql,
  tables: readonly FoundTable[],
  condition: string | null,
): Promise<ReadonlySet<TableDeclaration>> => {
  if (condition === null) return new Set()
  await requireExpression(sql, condition)
  const filtered = new Set<TableDeclaration>()
  for (const { table } of tables) if (await appliesTo(sql, relation(table), condition)) filtered.add(table)
  if (filtered.size === 0) throw bad(condition, 'no exported table has all columns of the condition')
  return filtered
}

const copy = async (sql: Sql, request: CopyTable, out: string): Promise<number> => {
  try {
    const [copied] = await sql.rows(z.object({ Count: bigintCell }), copyTable(request))
    return copied?.Count ?? 0
  } catch (error) {
    const fault = conditionError(error, request.condition)
    if (fault !== error) throw fault
    throw new ExportFailedError(`cannot export ${tableName(request.table)} to ${out}: ${firstLine(error)}`, {
      cause: error,
    })
  }
}

const lastRun = async (sql: Sql): Promise<string | null> => {
  const [row] = await sql.rows(
    z.object({ run_id: varcharCell.nullable() }),
    'SELECT max_by(run_id, started_at) AS run_id FROM _sync.runs',
  )
  return row?.run_id ?? null
}
