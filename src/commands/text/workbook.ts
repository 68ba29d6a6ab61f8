/**
 * Writes workbooks: all sheets at once from memory, or one sheet row by row. Excel and the library keep a whole workbook in memory, so only
 * a small workbook is written at once.
 */
import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type Cell, type CellValue, type WriteSheet, writeXlsx, writeXlsxStream } from 'hucre/xlsx'
import { throwIfAborted } from '../../base/signals.js'
import type { Column } from '../../model/columns.js'
import {
  columnDefinition,
  escaped,
  filterOver,
  fixedPane,
  headerComment,
  type SelectedCell,
  sheetRows,
} from './sheet.js'

/** A sheet whose rows are selected by `selectSheetCell`. */
export interface SelectedSheet {
  readonly name: string
  readonly columns: readonly Column[]
  readonly batches: AsyncIterable<Iterable<readonly SelectedCell[]>>
}

/** Writes a workbook of one sheet. Returns the numbers of its rows and of the texts that were cut. */
export const writeOneSheet = async (
  file: string,
  { name, columns, batches }: SelectedSheet,
  signal: AbortSignal,
) => {
  const { rows, counts } = sheetRows(columns, batches)
  const { first, isWhole } = await firstRows(rows)
  if (isWhole) await writeFile(file, await workbookOf([await wholeSheet(name, columns, first)]))
  else await writeStreamed(file, { name, columns, rows: chained(first, rows) }, signal)
  return counts
}

/** More cells would take too much memory. A text counts by its length. */
const [CELLS_IN_MEMORY_MAX, CELL_CHARACTERS] = [60_000, 50]

const firstRows = async (rows: AsyncGenerator<CellValue[], void>) => {
  const first: CellValue[][] = []
  for (let room = CELLS_IN_MEMORY_MAX; room > 0; ) {
    const next = await rows.next()
    if (next.done === true) return { first, isWhole: true }
    first.push(next.value)
    for (const cell of next.value) room -= 1 + (typeof cell === 'string' ? cell.length / CELL_CHARACTERS : 0)
  }
  return { first, isWhole: false }
}

/** The widths come from the first rows, because a long table is not in memory. */
const WIDTH_ROWS = 200

/** Bold header cells with their comments, by the address of the cell. */
const headerCells = (columns: readonly Column[]): Map<string, Partial<Cell>> =>
  new Map(
    columns.map((column, index) => [
      `0,${index}`,
      {
        ...BOLD,
        ...(column.comment !== '' && { comment: { text: headerComment(column), author: 'fieldwork-sync' } }),
      },
    ]),
  )

/** A font without a name has serifs. This is the font of the cells. */
export const BOLD = { style: { font: { name: 'Calibri', size: 11, bold: true } } } as const

/**
 * A sheet of all rows, with comments and a filter on the header. The library writes a text such as `#N/A` as an error value, except as rich
 * text. Its streamed sheets hold every text as a text.
 */
export const wholeSheet = async (
  name: string,
  columns: readonly Column[],
  rows: AsyncIterable<CellValue[]> | Iterable<CellValue[]>,
): Promise<WriteSheet> => {
  const lines: CellValue[][] = [columns.map((column) => escaped(column.name))]
  const cells = headerCells(columns)
  for await (const row of rows) {
    for (const [index, cell] of row.entries())
      if (typeof cell === 'string' && cell.startsWith('#'))
        cells.set(`${lines.length},${index}`, { richText: [{ text: cell }] })
    lines.push(row)
  }
  return {
    name,
    freezePane: fixedPane(columns),
    autoFilter: filterOver(columns.length, lines.length - 1),
    columns: columns.map((column, index) =>
      columnDefinition(column, cellsAt(index, lines.slice(1, WIDTH_ROWS))),
    ),
    cells,
    rows: lines,
  }
}

const cellsAt = (index: number, rows: readonly (readonly CellValue[])[]): CellValue[] =>
  rows.map((row) => row[index] ?? null)

/** A fixed time, because equal rows must give an equal file. */
const WRITTEN_AT = new Date(Date.UTC(2000, 0, 1))

export const workbookOf = (sheets: readonly WriteSheet[]): Promise<Uint8Array> => {
  // LibreOffice reads the range of a filter from this name.
  const namedRanges = sheets.map(({ name, autoFilter }) => {
    const range = autoFilter?.range.replaceAll(/[A-Z]+|\d+/g, '$$$&')
    return { name: '_xlnm._FilterDatabase', range: `'${name}'!${range}`, scope: name }
  })
  return writeXlsx({
    sheets: [...sheets],
    namedRanges,
    properties: { created: WRITTEN_AT, modified: WRITTEN_AT },
  })
}

/**
 * Writes a workbook of one sheet, row by row. The library repeats the header on a further sheet where a sheet is full. Its streamed sheets
 * have fixed panes and widths, but neither comments, nor a filter, nor a font of the header.
 */
const writeStreamed = async (
  file: string,
  { name, columns, rows }: StreamedSheet,
  signal: AbortSignal,
): Promise<void> => {
  const first: CellValue[][] = []
  while (first.length < WIDTH_ROWS) {
    const next = await rows.next()
    if (next.done === true) break
    first.push(next.value)
  }
  const workbook = writeXlsxStream(chained(first, rows), {
    name,
    freezePane: fixedPane(columns),
    columns: columns.map((column, index) => ({
      ...columnDefinition(column, cellsAt(index, first)),
      header: escaped(column.name),
    })),
  })
  await pipeline(workbook, createWriteStream(file), { signal }).catch((error: unknown) => {
    // At a signal, the pipeline rejects with an error of its own. We throw the reason of the signal.
    if (error instanceof Error && error.name === 'AbortError') throwIfAborted(signal)
    throw error
  })
}

interface StreamedSheet {
  readonly name: string
  readonly columns: readonly Column[]
  readonly rows: AsyncGenerator<CellValue[], void>
}

const chained = async function* (
  first: readonly CellValue[][],
  rest: AsyncIterable<CellValue[]>,
): AsyncGenerator<CellValue[], void> {
  yield* first
  yield* rest
}
