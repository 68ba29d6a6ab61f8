/**
 * What `export` does: writes tables and views of one published state as files, and prints what was written. It reads only published
 * files, so it works while a sync runs.
 */
import { realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../base/clock.js'
import { asWarehouseError } from '../base/errors.js'
import { counted, humanBytes, humanCount } from '../base/human.js'
import { packageVersion } from '../base/version.js'
import type { TableDeclaration } from '../model/columns.js'
import type { Settings } from '../settings/settings.js'
import { findState, requirePublished } from '../storage/open.js'
import type { Database, OpenOptions, Sql } from '../warehouse/connection/database.js'
import { unreadable } from '../warehouse/connection/duckdb-error.js'
import { readLastRun } from '../warehouse/history/runs.js'
import { ALL_VIEWS, withTemporaryViews } from '../warehouse/views/all.js'
import type { CliContext } from './context.js'
import { type FileFormat, writeFiles } from './export/files.js'
import { findTables, isView, requestedTables } from './export/relations.js'
import { type ExportManifest, replaceDirectory } from './export/target.js'
import { jsonOf } from './text/json.js'
import { textTable } from './text/text-table.js'

/** Throws `nothing_published`, and the errors of `exportTables`. */
export const exportPublished = async (
  { signal, print }: CliContext,
  settings: Settings,
  request: Pick<Export, 'out' | 'format' | 'bom' | 'tables'>,
): Promise<void> => {
  const { file, open } = await requirePublished(settings, await findState(settings, signal))
  // We follow the link once, so all tables are read from the same version.
  const source = await realpath(file).catch((error: unknown) => {
    throw unreadable(file, error)
  })
  const manifest = await exportTables({
    ...request,
    source,
    open: (options) => open(source, options),
    signal,
  })
  const { out } = request
  await print(settings.json ? `${jsonOf({ out, ...manifest })}\n` : renderExport(out, manifest))
}

export interface Export {
  /** Path of the published state; `open` opens it read-only. */
  readonly source: string
  readonly open: (options: OpenOptions) => Promise<Database>
  /** Absolute path. */
  readonly out: string
  readonly format: FileFormat | 'xlsx'
  /** Whether CSV files are for spreadsheet programs: they begin with a byte order mark, and no text can become a formula. */
  readonly bom: boolean
  /** Such as `surveys`, `survey_overview` or `_sync.runs`; null for all tables outside `_sync`. */
  readonly tables: readonly string[] | null
  readonly signal: AbortSignal
}

/**
 * Throws `export_request` for a wrong request, `export_failed` or `WarehouseUnusableError` if it cannot read or write.
 *
 * DuckDB sorts each table by key, and spills what does not fit into little memory into the directory of the export, which is writable.
 * Views need the memory of a sync. See docs/decisions/export-and-sql.md#0050-an-export-sorts-on-disk. The database is closed before the
 * directory is renamed.
 */
export const exportTables = async (options: Export): Promise<ExportManifest> => {
  const requested = requestedTables(options.tables, options.format === 'xlsx')
  const hasViews = requested.some(isView)
  const replaced = replaceDirectory(options.out, async (directory) => {
    const temporaryDirectory = join(directory, 'spill')
    try {
      const opening = options.open({
        ...(hasViews ? {} : { memoryLimit: '112MB' }),
        temporaryDirectory,
        directories: [directory],
      })
      await using database = await opening.catch((error: unknown) => {
        throw unreadable(options.source, error)
      })
      return await database.transaction((sql) =>
        database.interruptibly(options.signal, () =>
          withTemporaryViews(sql, hasViews ? ALL_VIEWS : [], [], () =>
            write(options, sql, directory, requested),
          ),
        ),
      )
    } finally {
      await rm(temporaryDirectory, { recursive: true, force: true })
    }
  })
  return await replaced.catch(
    asWarehouseError(
      'export_failed',
      (reason) =>
        `cannot export to ${options.out}: ${reason}. Check the permissions and the free space; a directory that is a mount point cannot be replaced: name one below it`,
    ),
  )
}

const write = async (
  options: Export,
  sql: Sql,
  directory: string,
  requested: readonly TableDeclaration[],
): Promise<ExportManifest> => {
  const { format, bom, out, signal } = options
  const relations = await findTables(sql, requested, options)
  const writing = { sql, relations, directory, out, signal }
  const tables =
    format === 'xlsx'
      ? await (await import('./export/workbooks.js')).writeWorkbooks(writing)
      : await writeFiles(writing, format, bom)
  return {
    fieldwork_sync_export: 1,
    program: packageVersion(),
    exported_at: new Date(systemClock.nowMs()).toISOString(),
    source: options.source,
    run_id: (await readLastRun(sql)).run_id,
    format,
    bom,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    tables: [...tables],
  }
}

const renderExport = (out: string, { format, rows, tables }: ExportManifest): string => {
  const isWorkbook = format === 'xlsx'
  const lines = tables.map(({ table, file, rows: tableRows, bytes }) => [
    table,
    ...(isWorkbook ? [file] : []),
    humanCount(tableRows),
    humanBytes(bytes),
  ])
  const header = isWorkbook ? ['table', 'file', 'rows', 'file size'] : ['table', 'rows', 'size']
  const table = textTable([header, ...lines], { leftColumns: isWorkbook ? 2 : 1 })
  return `${table}\n\nexported ${counted(rows, 'row')} of ${counted(tables.length, 'table')} to ${out}\n${cutTexts(tables)}`
}

const cutTexts = (tables: ExportManifest['tables']): string => {
  const cut = tables.filter(({ cut_texts }) => cut_texts > 0)
  if (cut.length === 0) return ''
  const places = cut.map(({ table, cut_texts }) => `${table}: ${humanCount(cut_texts)}`).join(', ')
  return `texts cut at 32,767 characters, the most of a cell: ${places}. Parquet and CSV hold them whole\n`
}
