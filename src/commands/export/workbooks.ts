/**
 * Writes an export as Excel workbooks: `fieldwork.xlsx` with a sheet per table, and a workbook of its own for each table that is too large
 * for it. See docs/decisions/export-and-sql.md#0073-spreadsheets-hold-typed-cells-and-no-formulas.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WriteSheet } from 'hucre/xlsx'
import { z } from 'zod'
import { asWarehouseError } from '../../base/errors.js'
import { throwIfAborted } from '../../base/signals.js'
import { tableName } from '../../model/sync-tables.js'
import { bigintCell } from '../../warehouse/connection/cells.js'
import { qualified, quote } from '../../warehouse/connection/ddl.js'
import {
  filterOver,
  headerComment,
  isText,
  selectSheetCell,
  sheetRowSchema,
  sheetRows,
} from '../text/sheet.js'
import { BOLD, type SelectedSheet, wholeSheet, workbookOf, writeOneSheet } from '../text/workbook.js'
import { type ExportEntry, entryOf, selectRows, type Writing, writeError } from './files.js'
import type { Relation } from './relations.js'

const SHARED_FILE = 'fieldwork.xlsx'

export const writeWorkbooks = async (writing: Writing): Promise<readonly ExportEntry[]> => {
  const sized: (TableSize & { readonly relation: Relation })[] = []
  for (const relation of writing.relations) sized.push(await sizeOf(writing, relation))
  const shared = sharedTables(sized)
  const sheets: WriteSheet[] = []
  const written: { relation: Relation; file: string; rows: number; cutTexts: number }[] = []
  // The rows of the shared workbook are in memory until it is written, so it comes last.
  for (const entry of sized.toSorted((a, b) => Number(shared.has(a)) - Number(shared.has(b)))) {
    throwIfAborted(writing.signal)
    const { relation } = entry
    const { table, columns } = relation
    const name = tableName(table)
    const batches = writing.sql.batches(sheetRowSchema, selectRows(relation, selectSheetCell))
    const sheet = { name, columns, batches }
    const file = shared.has(entry) ? SHARED_FILE : `${name}.xlsx`
    try {
      const counts = shared.has(entry)
        ? await keepIn(sheets, sheet)
        : await writeOneSheet(join(writing.directory, file), sheet, writing.signal)
      written.push({ relation, file, ...counts })
    } catch (error) {
      throw writeError(error, relation, writing.out)
    }
  }
  const placeOf = ({ relation }: { readonly relation: Relation }) => writing.relations.indexOf(relation)
  const inOrder = written.toSorted((a, b) => placeOf(a) - placeOf(b))
  await writeShared(writing, [...sheets, columnsSheet(inOrder)])
  const entries: ExportEntry[] = []
  for (const { relation, file, rows, cutTexts } of inOrder)
    entries.push(await entryOf(writing.directory, relation, file, rows, cutTexts))
  return entries
}

const keepIn = async (sheets: WriteSheet[], { name, columns, batches }: SelectedSheet) => {
  const { rows, counts } = sheetRows(columns, batches)
  sheets.push(await wholeSheet(name, columns, rows))
  return counts
}

const sizeOf = async ({ sql, out }: Writing, relation: Relation) => {
  const texts = relation.columns.filter(isText).map(({ name }) => `strlen(t.${quote(name)}::VARCHAR)`)
  const bytes = texts.map((length) => `coalesce(sum(${length}), 0)`).join(' + ') || '0'
  const select = `SELECT count(*) AS rows, (${bytes})::BIGINT AS bytes FROM ${qualified(relation.table)} t`
  const [size] = await sql
    .rows(z.object({ rows: bigintCell, bytes: bigintCell }), select)
    .catch((error: unknown) => {
      throw writeError(error, relation, out)
    })
  const { rows = 0, bytes: textBytes = 0 } = size ?? {}
  return { relation, rows, columns: relation.columns.length, textBytes }
}

const writeShared = async ({ directory, out }: Writing, sheets: readonly WriteSheet[]): Promise<void> => {
  const workbook = await workbookOf(sheets)
  await writeFile(join(directory, SHARED_FILE), workbook).catch(
    asWarehouseError('export_failed', (reason) => `cannot export ${SHARED_FILE} to ${out}: ${reason}`),
  )
}

interface TableSize {
  readonly rows: number
  readonly columns: number
  /** Bytes of all texts in UTF-8. */
  readonly textBytes: number
}

/** The library takes about 180 MiB of memory for so many cells. */
const SHARED_CELLS_MAX = 300_000

/** A text of this length takes as much memory as its cell. */
const CELL_TEXT_BYTES = 50

/** Small tables come first, so that a long history never keeps a small table out. */
export const sharedTables = <Table extends TableSize>(
  tables: readonly Table[],
  cellsMax = SHARED_CELLS_MAX,
): ReadonlySet<Table> => {
  const shared = new Set<Table>()
  let room = cellsMax
  for (const table of tables.toSorted((a, b) => cellsOf(a) - cellsOf(b))) {
    room -= cellsOf(table)
    if (room < 0) break
    shared.add(table)
  }
  return shared
}

const cellsOf = ({ rows, columns, textBytes }: TableSize): number =>
  (rows + 1) * columns + Math.ceil(textBytes / CELL_TEXT_BYTES)

const COLUMNS_HEADER = ['table', 'file', 'column', 'type', 'comment']

/** One row per column of every exported table and view. */
export const columnsSheet = (
  relations: readonly { readonly relation: Relation; readonly file: string }[],
): WriteSheet => {
  const rows = relations.flatMap(({ relation: { table, columns }, file }) =>
    columns.map((column) => [tableName(table), file, column.name, column.type, headerComment(column)]),
  )
  return {
    name: 'Columns',
    freezePane: { rows: 1 },
    autoFilter: filterOver(COLUMNS_HEADER.length, rows.length),
    columns: [32, 36, 32, 14, 100].map((width) => ({ width, numFmt: '@' })),
    cells: new Map(COLUMNS_HEADER.map((_, index) => [`0,${index}`, BOLD])),
    rows: [COLUMNS_HEADER, ...rows],
  }
}
