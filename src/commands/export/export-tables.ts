/**
 * Exports tables of one published state as files: Parquet or CSV. It reads what readers read, so a sync may be at work
 * beside it.
 */
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type Clock, throwIfAborted } from '../../base/clock.js'
import { isStop } from '../../base/errors.js'
import { nearest } from '../../base/suggest.js'
import { packageVersion } from '../../base/version.js'
import type { Column, TableDeclaration } from '../../model/columns.js'
import { ALL_TABLES } from '../../model/sync-tables.js'
import { checksum } from '../../publish/parquet/manifest.js'
import { withoutPattern } from '../../publish/parquet/sql.js'
import { bigintCell, varcharCell } from '../../warehouse/connection/cells.js'
import type { Database, OpenOptions, Sql } from '../../warehouse/connection/database.js'
import { literal } from '../../warehouse/connection/ddl.js'
import { firstLine, unreadable } from '../../warehouse/connection/duckdb-error.js'
import { appliesTo, bad, conditionError, requireExpression } from './condition.js'
import { ExportFailedError, ExportRequestError } from './errors.js'
import { copyTable, type ExportFormat, relation } from './sql.js'
import { type ExportManifest, replaceDirectory } from './target.js'

export interface Export {
  /** What was published, and how to open it read-only. */
  readonly source: string
  readonly open: (options: OpenOptions) => Promise<Database>
  /** Directories that the source is read from after it was opened. */
  readonly sourceDirectories: readonly string[]
  /** Absolute path. */
  readonly out: string
  readonly format: ExportFormat
  /** `surveys`, `_sync.runs`; null for all that analysts read. */
  readonly tables: readonly string[] | null
  readonly condition: string | null
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Throws `ExportRequestError` for what cannot be asked, `ExportFailedError` or `WarehouseUnusableError` for what cannot be done. */
export const exportTables = async (options: Export): Promise<ExportManifest> => {
  const wanted = wantedTables(options.tables)
  return await replaceDirectory(options.out, (directory) => readInto(directory, options, wanted)).catch(
    (error: unknown) => {
      if (isStop(error)) throw error
      throwIfAborted(options.signal)
      throw error
    },
  )
}

/**
 * A table is sorted by key, however large it is: what does not fit into so much memory is spilled. With one thread the sorted
 * rows are written as they come; several threads would keep what is not its turn yet.
 */
const FRUGAL = { memoryLimit: '112MB', threads: 1 } satisfies OpenOptions
const SPILL = 'spill'

/** It spills where it may write anyway. The database is closed before the directory is put in its place. */
const readInto = async (
  directory: string,
  options: Export,
  wanted: readonly TableDeclaration[],
): Promise<ExportManifest> => {
  const temporaryDirectory = join(directory, SPILL)
  try {
    await using database = await options.open({ ...FRUGAL, temporaryDirectory }).catch((error: unknown) => {
      throw unreadable(options.source, error)
    })
    return await database.transaction((sql) =>
      database.interruptibly(options.signal, () => write(options, sql, directory, wanted)),
    )
  } finally {
    await rm(temporaryDirectory, { recursive: true, force: true })
  }
}

const nameOf = ({ schema, name }: TableDeclaration): string =>
  schema === 'main' ? name : `${schema}.${name}`

const wantedTables = (names: readonly string[] | null): readonly TableDeclaration[] => {
  if (names === null) return ALL_TABLES.filter(({ schema }) => schema === 'main')
  const known = ALL_TABLES.map(nameOf)
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
  return ALL_TABLES.filter((table) => names.includes(nameOf(table)))
}

const write = async (
  options: Export,
  sql: Sql,
  directory: string,
  wanted: readonly TableDeclaration[],
): Promise<ExportManifest> => {
  const { sourceDirectories } = options
  // A source is named as a pattern, and DuckDB holds both the pattern and what it stands for against the list.
  await confine(sql, [directory, ...sourceDirectories, ...sourceDirectories.map(withoutPattern)])
  const there = await withColumns(sql, wanted, options)
  const filtered = await filteredTables(sql, there, options.condition)
  const tables: ExportManifest['tables'] = []
  for (const { table, columns } of there) {
    throwIfAborted(options.signal)
    const file = `${nameOf(table)}.${options.format}`
    const condition = filtered.has(table) ? options.condition : null
    const path = join(directory, file)
    const rows = await copy(
      sql,
      { table, columns, condition, format: options.format, file: path },
      options.out,
    )
    tables.push({
      table: nameOf(table),
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

/** From here on the connection opens no file elsewhere, whatever a condition asks for, and nothing can change that. */
const confine = async (sql: Sql, directories: readonly string[]): Promise<void> => {
  await sql.run(`SET allowed_directories = [${directories.map(literal).join(', ')}]`)
  await sql.run('SET enable_external_access = false')
  await sql.run('SET lock_configuration = true')
}

interface FoundTable {
  readonly table: TableDeclaration
  readonly columns: readonly Column[]
}

/** What an older version has published has not all tables and columns. */
const withColumns = async (
  sql: Sql,
  wanted: readonly TableDeclaration[],
  { tables, source }: Export,
): Promise<readonly FoundTable[]> => {
  const found = await sql.rows(
    z.object({ path: varcharCell }),
    `SELECT concat_ws('.', schema_name, table_name, column_name) AS path FROM duckdb_columns()
      WHERE database_name = current_database() AND NOT internal`,
  )
  const paths = new Set(found.map(({ path }) => path))
  const there = wanted.map((table) => ({
    table,
    columns: table.columns.filter(({ name }) => paths.has(`${table.schema}.${table.name}.${name}`)),
  }))
  const absent = there.find(({ columns }) => columns.length === 0)
  if (tables !== null && absent !== undefined)
    throw new ExportRequestError(
      `--tables: ${nameOf(absent.table)} is not in ${source}, which an older version has published. Run fieldwork-sync sync first`,
    )
  return there.filter(({ columns }) => columns.length > 0)
}

/** The tables that the condition can be asked of: at least one. */
const filteredTables = async (
  sql: Sql,
  tables: readonly FoundTable[],
  condition: string | null,
): Promise<ReadonlySet<TableDeclaration>> => {
  if (condition === null) return new Set()
  await requireExpression(sql, condition)
  const filtered = new Set<TableDeclaration>()
  for (const { table } of tables) if (await appliesTo(sql, relation(table), condition)) filtered.add(table)
  if (filtered.size === 0) throw bad(condition, 'no table that is exported has all the columns it names')
  return filtered
}

const copy = async (sql: Sql, what: Parameters<typeof copyTable>[0], out: string): Promise<number> => {
  try {
    const [copied] = await sql.rows(z.object({ Count: bigintCell }), copyTable(what))
    return copied?.Count ?? 0
  } catch (error) {
    const told = conditionError(error, what.condition)
    if (told !== error) throw told
    throw new ExportFailedError(`cannot export ${nameOf(what.table)} to ${out}: ${firstLine(error)}`, {
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
