/** Headers, comments, widths and formats of the sheets, and the sheet that describes all columns. */
import type { Cell, ColumnDef, WriteSheet } from 'hucre/xlsx'
import type { Column } from '../../../model/columns.js'
import { tableName } from '../../../model/sync-tables.js'
import type { Relation } from '../relations.js'
import { isText } from './cell.js'

export const FIXED_HEADER = { rows: 1 } as const

/** How the cells of a column are shown. In a cell with the format `@`, a text stays a text when a person edits it. */
const formatOf = (column: Column): string | null => {
  if (isText(column)) return '@'
  if (column.type === 'TIMESTAMPTZ') return 'yyyy-mm-dd hh:mm:ss.000'
  if (column.type === 'DATE') return 'yyyy-mm-dd'
  return isRate(column) ? '0.0%' : null
}

/** A part of one, such as `completion_rate`. The percentages of the API are numbers up to 100. */
const isRate = ({ name, type }: Column): boolean => type === 'DOUBLE' && name.endsWith('_rate')

const WIDTH_MIN = 10
const TIME_WIDTH = 24
const NAMED_TEXT_WIDTH = 40

export const columnDefinition = (column: Column): ColumnDef => {
  const format = formatOf(column)
  const content =
    column.type === 'TIMESTAMPTZ'
      ? TIME_WIDTH
      : /title|name|comment/.test(column.name)
        ? NAMED_TEXT_WIDTH
        : WIDTH_MIN
  return {
    width: Math.max(content, column.name.length + 2),
    ...(format === null ? {} : { numFmt: format }),
  }
}

/** The declared comment, with what the sheet changes. */
export const headerComment = (column: Column): string => {
  if (column.type === 'TIMESTAMPTZ') return `${column.comment}. UTC, cut to milliseconds`
  return isRate(column) ? `${column.comment}. Shown as a percentage` : column.comment
}

/** Bold header cells with their comments, by the place of the cell. */
export const headerCells = (columns: readonly Column[]): Map<string, Partial<Cell>> =>
  new Map(
    columns.map((column, index) => [
      `0,${index}`,
      { ...BOLD, comment: { text: headerComment(column), author: 'fieldwork-sync' } },
    ]),
  )

const BOLD = { style: { font: { bold: true } } } as const

const COLUMNS_HEADER = ['table', 'file', 'column', 'type', 'comment']

/** One row per column of every exported table and view. */
export const columnsSheet = (
  relations: readonly { readonly relation: Relation; readonly file: string }[],
): WriteSheet => ({
  name: 'Columns',
  freezePane: FIXED_HEADER,
  columns: [32, 36, 32, 14, 100].map((width) => ({ width, numFmt: '@' })),
  cells: new Map(COLUMNS_HEADER.map((_, index) => [`0,${index}`, BOLD])),
  rows: [
    COLUMNS_HEADER,
    ...relations.flatMap(({ relation: { table, columns }, file }) =>
      columns.map((column) => [tableName(table), file, column.name, column.type, headerComment(column)]),
    ),
  ],
})
