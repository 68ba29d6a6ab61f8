/**
 * The cells and columns of workbooks: types, comments, widths and formats. Excel has no time zone, no 64-bit integers, no infinity, and no
 * dates before 1900. A value that Excel cannot hold as a number or a date becomes a text, so no value changes.
 */
import { type CellValue, type ColumnDef, calculateColumnWidth, rangeRef } from 'hucre/xlsx'
import { z } from 'zod'
import type { Column } from '../../model/columns.js'
import { formatInstant, instantToMs } from '../../model/instant.js'
import { quote } from '../../warehouse/connection/ddl.js'

/** A cell that `selectSheetCell` selects. */
const sheetCellSchema = z.union([
  z.string(),
  z.number(),
  z.nan(),
  z.literal([Infinity, -Infinity]),
  z.boolean(),
  z.bigint(),
  z.null(),
])
export type SelectedCell = z.output<typeof sheetCellSchema>
export const sheetRowSchema = z.array(sheetCellSchema)

/** DuckDB's client reads a BIGINT as a number, and drops a byte order mark at the beginning of a text. */
export const selectSheetCell = ({ name, type }: Column): string => {
  const cell = `t.${quote(name)}`
  if (type === 'BIGINT' || type === 'DATE') return `CAST(${cell} AS VARCHAR)`
  return type === 'VARCHAR' || type === 'JSON' ? `'.' || ${cell}` : cell
}

/** `onCut` is called for a text that is too long for a cell. */
export const sheetCell = (column: Column, cell: SelectedCell, onCut: () => void): CellValue => {
  if (cell === null || typeof cell === 'boolean') return cell
  if (typeof cell === 'number') return Number.isFinite(cell) ? cell : String(cell)
  if (typeof cell === 'bigint') return dateCell(instantToMs(cell), formatInstant(cell))
  if (column.type === 'DATE') return dateCell(Date.parse(`${cell}T00:00:00Z`), cell)
  if (column.type === 'TIMESTAMPTZ') return dateCell(Date.parse(`${cell.replace('Z', '')}Z`), cell)
  if (column.type === 'BIGINT') return isText(column) || !hasSafeDigits(cell) ? cell : Number(cell)
  return textCell(cell.slice(1), onCut)
}

/** The rows of a query of `selectSheetCell`, converted while they are iterated, and the counts of the converted rows. */
export const sheetRows = (
  columns: readonly Column[],
  batches: AsyncIterable<Iterable<readonly SelectedCell[]>>,
) => {
  const counts = { rows: 0, cutTexts: 0 }
  const onCut = () => {
    counts.cutTexts += 1
  }
  const converted = async function* (): AsyncGenerator<CellValue[], void> {
    for await (const batch of batches)
      for (const row of batch) {
        counts.rows += 1
        yield columns.map((column, index) => sheetCell(column, row[index] ?? null, onCut))
      }
  }
  return { rows: converted(), counts }
}

/** Whether the cells of the column are texts. People do not calculate with ids, and Excel would round long ones. */
export const isText = ({ name, type }: Column): boolean =>
  type === 'VARCHAR' || type === 'JSON' || (type === 'BIGINT' && /(^|_)id$/.test(name))

/** Excel keeps 15 digits of a number. */
export const DIGITS_MAX = 15
const hasSafeDigits = (number: string): boolean =>
  number.replace(/(\.\d*?)0+$/, '$1').replace(/[-.]/g, '').length <= DIGITS_MAX

/** Days before this have another number in Excel than in other programs, because Excel has a 29 February 1900. */
const FIRST_DAY_MS = Date.UTC(1900, 2, 1)
const AFTER_LAST_DAY_MS = Date.UTC(10_000, 0, 1)

/** A date, cut to milliseconds; the text of a date that Excel does not have. */
const dateCell = (ms: number, text: string): CellValue =>
  ms >= FIRST_DAY_MS && ms < AFTER_LAST_DAY_MS ? new Date(ms) : text

/** The most characters of a cell, in UTF-16 units. A file with a longer text is damaged for Excel. */
export const CELL_CHARACTERS_MAX = 32_767

/** Line breaks become LF, as in Excel. A text that is too long ends with a note about its length. */
const textCell = (text: string, onCut: () => void): string => {
  const lines = text.replaceAll(/\r\n?/g, '\n')
  if (lines.length <= CELL_CHARACTERS_MAX) return escaped(lines)
  onCut()
  const note = `… [cut: ${lines.length} characters]`
  const kept = lines.slice(0, CELL_CHARACTERS_MAX - note.length).replace(/[\ud800-\udbff]$/, '')
  return escaped(`${kept}${note}`)
}

/**
 * In a sheet, `_x0041_` stands for a character (ECMA-376, ST_Xstring). The library writes control characters in this way. But the library
 * does not escape a text that only looks like `_x0041_`, nor the two other characters that XML cannot hold.
 */
export const escaped = (text: string): string =>
  text
    .replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')
    .replaceAll('\ufffe', '_xFFFE_')
    .replaceAll('\uffff', '_xFFFF_')

/** The part that stays when a person scrolls: the header, and the columns up to the title. */
export const fixedPane = (columns: readonly Column[]) => {
  const titled = 1 + columns.findIndex(({ name }) => name === 'title')
  return titled > 0 && titled <= FIXED_COLUMNS_MAX ? { rows: 1, columns: titled } : { rows: 1 }
}

/** More fixed columns would leave no room on a small screen. */
const FIXED_COLUMNS_MAX = 4

/** A filter over the header and `rows` rows of cells. */
export const filterOver = (columns: number, rows: number) => ({ range: rangeRef(0, 0, rows, columns - 1) })

/** How the cells of a column are shown. In a cell with the format `@`, a text stays a text when a person edits it. */
const formatOf = (column: Column): string | null => {
  if (isText(column)) return '@'
  if (column.type === 'TIMESTAMPTZ') return 'yyyy-mm-dd hh:mm'
  if (column.type === 'DATE') return 'yyyy-mm-dd'
  return isRate(column) ? '0.0%' : null
}

/** A rate from 0 to 1, such as `completion_rate`. The percentages of the API are numbers up to 100. */
const isRate = ({ name, type }: Column): boolean => type === 'DOUBLE' && name.endsWith('_rate')

const [WIDTH_MIN, WIDTH_MAX] = [8, 60]
/** The widest column that Excel has. */
const HEADER_WIDTH_MAX = 255
/** The button of the filter covers the end of the name. */
const BUTTON_CHARACTERS = 3

/** `cells` are the cells of the column in the first rows. */
export const columnDefinition = (column: Column, cells: readonly CellValue[]): ColumnDef => {
  const format = formatOf(column)
  const numFmt = format === null ? {} : { numFmt: format }
  const header = column.name.length + BUTTON_CHARACTERS
  // A number without a format is shown with as many digits as fit.
  const shown = cells.map((cell) => (typeof cell === 'number' ? Number(cell.toPrecision(6)) : cell))
  const minWidth = Math.min(HEADER_WIDTH_MAX, Math.max(WIDTH_MIN, header))
  const width = calculateColumnWidth(shown, { ...numFmt, minWidth, maxWidth: Math.max(WIDTH_MAX, minWidth) })
  return { width, ...numFmt }
}

/** The declared comment, with a note on what the sheet changes. */
export const headerComment = (column: Column): string => {
  if (column.type === 'TIMESTAMPTZ') return `${column.comment}. UTC, shown in minutes, cut to milliseconds`
  return isRate(column) ? `${column.comment}. Shown as a percentage` : column.comment
}
