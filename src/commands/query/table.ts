/**
 * A result for a terminal: a table if it fits into the width, otherwise a block for each record. A named query says which columns its table
 * can do without. The first rows decide the widths, so that a result of any length begins at once. A text that is too long loses its
 * middle, because titles differ at the end.
 */
import { setImmediate as eventsHandled } from 'node:timers/promises'
import stringWidth from 'string-width'
import { counted, cutInMiddle } from '../../base/human.js'
import { throwIfAborted } from '../../base/signals.js'
import { onOneLine } from '../../model/data-problem-names.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { wrapped } from '../text/text-table.js'
import { isBare, isNumber, onOneLineSql, readable, selectLines, type Write } from './lines.js'
import { ofStatement, type ResultColumn, type Statement } from './statement.js'

type Cells = readonly string[]

/** The rows that decide the widths. */
const SIZED_ROWS = 1_000
/** Rows that are laid out before we look for a signal. To measure the width of symbols, such as the blocks of `bar`, takes long. */
const ROWS_AT_ONCE = 100
/** The most characters of a text that a line shows. */
const CELL_CHARACTERS_MAX = 400
/** A text of a table is at least this wide, unless all of its texts are shorter. */
const TEXT_WIDTH_MIN = 12
/**
 * A text in the last column goes on in the next lines, because it says what the row is about. If it needs more lines than this, it loses
 * its middle.
 */
const LAST_LINES = 3
const GAP = '  '

interface TableOutput {
  readonly write: Write
  /** Columns. */
  readonly width: number
  readonly signal: AbortSignal
  /** The columns to show. */
  readonly columns: readonly ResultColumn[]
  /** Names of columns that the table leaves out, the first of them first, until it fits. */
  readonly dispensable: readonly string[]
  /** A sentence below the table; null for none. */
  readonly note: string | null
}

/** Returns the number of rows. Rejects with the reason of the signal. */
export const writeTable = (
  sql: Sql,
  statement: Statement,
  { write, width, signal, columns, dispensable, note }: TableOutput,
): Promise<number> =>
  ofStatement(async () => {
    const row = `concat_ws('${SEPARATOR}', ${columns.map((column) => `coalesce(${shownCell(column)}, '')`).join(', ')})`
    let waiting: Cells[] = []
    let layout: Layout | null = null
    let rows = 0
    const laidOut = (): string => {
      const begins = layout === null
      layout ??= layoutOf(columns, dispensable, waiting, width)
      const { head, line } = layout
      const text = waiting.map((cells) => line(cells, rows++)).join('')
      waiting = []
      return `${begins ? head : ''}${text}`
    }
    for await (const batch of selectLines(sql, statement, row)) {
      for (const [line = ''] of batch) {
        waiting.push(line.split(SEPARATOR))
        if (waiting.length < (rows === 0 ? SIZED_ROWS : ROWS_AT_ONCE)) continue
        if (!(await write(laidOut()))) return rows
        await eventsHandled()
        throwIfAborted(signal)
      }
    }
    const rest = laidOut()
    await write(`${rest}${layoutEnd(layout, rows, width)}${noteBelow(rows === 0 ? null : note, width)}`)
    return rows
  })

/** No cell contains the separator: control characters become spaces. */
const SEPARATOR = '\u001f'

const shownCell = (column: ResultColumn): string =>
  isBare(column) ? readable(column) : onOneLineSql(`left(${readable(column)}, ${CELL_CHARACTERS_MAX})`)

const noteBelow = (note: string | null, width: number): string =>
  note === null ? '' : `${wrapped(note, width, '')}\n`

const layoutEnd = (layout: Layout | null, rows: number, width: number): string => {
  const hasCut = layout?.hasCut() === true
  const leftOut = rows === 0 ? [] : (layout?.leftOut ?? [])
  const lacks =
    leftOut.length === 0
      ? hasCut
        ? '; longer texts are cut: --format csv or json has them whole'
        : ''
      : `; no room for ${leftOut.join(', ')}${hasCut ? ', and longer texts are cut' : ''}: --format csv or json has all`
  return `${layout?.isTable === false && rows > 0 ? '\n' : ''}${wrapped(`(${counted(rows, 'row')}${lacks})`, width, ' ')}\n`
}

interface Layout {
  readonly isTable: boolean
  /** Names of the columns that do not fit. */
  readonly leftOut: readonly string[]
  readonly head: string
  /** The text of a row; `rowIndex` counts from 0. */
  readonly line: (cells: Cells, rowIndex: number) => string
  /** Whether a text was cut. */
  readonly hasCut: () => boolean
}

/** The layout for columns whose first rows are `sized`, in lines of `width` characters: the table with most columns that fits. */
const layoutOf = (
  columns: readonly ResultColumn[],
  dispensable: readonly string[],
  sized: readonly Cells[],
  width: number,
): Layout => {
  for (const count of [...dispensable, ''].keys()) {
    const leftOut = dispensable.slice(0, count)
    const kept = [...columns.keys()].filter((index) => !leftOut.includes(columns[index]?.name ?? ''))
    const pick = <Item>(items: readonly Item[]) => kept.flatMap((index) => items[index] ?? [])
    const layout = layoutOfAll(pick(columns), sized.map(pick), width)
    if (layout.isTable)
      return { ...layout, leftOut, line: (cells, rowIndex) => layout.line(pick(cells), rowIndex) }
  }
  return layoutOfAll(columns, sized, width)
}

const layoutOfAll = (columns: readonly ResultColumn[], sized: readonly Cells[], width: number): Layout => {
  let isCut = false
  const fitted = (text: string, widthMax: number): string => {
    const fit = cutInMiddle(text, widthMax, stringWidth)
    isCut ||= fit !== text
    return fit
  }
  const hasCut = () => isCut
  const names = columns.map(({ name }) => onOneLine(name))
  const widths = tableWidths(columns, [names, ...sized], width)
  // Without a row, no block shows the names.
  if (widths === null && sized.length > 0)
    return { isTable: false, leftOut: [], head: '', line: blockOf(names, width, fitted), hasCut }
  const indent = ' '.repeat(widths === null ? 0 : sum(widths.slice(0, -1)) + GAP.length * (widths.length - 1))
  const line = (cells: Cells): string => {
    const padded = columns.map((column, index) => {
      const [cell, to] = [cells[index] ?? '', widths?.[index] ?? 0]
      // A number is never cut.
      if (isNumber(column)) return padStart(cell, to)
      const isLast = index > 0 && index === columns.length - 1 && !isBare(column)
      if (widths !== null && isLast) return inLines(fitted(cell, to * LAST_LINES), to, indent, fitted)
      return padEnd(widths === null ? cell : fitted(cell, to), to)
    })
    return `${padded.join(GAP).trimEnd()}\n`
  }
  // Names that are wider than the terminal go on in the next line.
  const head = widths === null ? `${namesInLines(names, width)}\n` : line(names)
  const rule = widths === null ? '' : `${widths.map((width) => '-'.repeat(width)).join(GAP)}\n`
  return { isTable: true, leftOut: [], head: `${head}${rule}`, line, hasCut }
}

/** A text in lines of `width`, all with the same indent. A word longer than a line loses its middle. */
const inLines = (text: string, width: number, indent: string, fitted: Fitted): string => {
  const words = text.split(' ').map((word) => fitted(word, width))
  return wrapped(words.join(' '), width, '').replaceAll('\n', `\n${indent}`)
}

const namesInLines = (names: Cells, width: number): string =>
  names.reduce((text, name) => {
    const line = text.slice(text.lastIndexOf('\n') + 1)
    return stringWidth(`${line}${GAP}${name}`) > width ? `${text}\n${name}` : `${text}${GAP}${name}`
  })

/** Null if the columns do not fit. */
const tableWidths = (
  columns: readonly ResultColumn[],
  rows: readonly Cells[],
  width: number,
): readonly number[] | null => {
  const widths = columns.map((_, index) =>
    rows.reduce((widest, cells) => Math.max(widest, stringWidth(cells[index] ?? '')), 1),
  )
  const least = columns.map((column, index) => {
    const wanted = widths[index] ?? 0
    if (isBare(column)) return wanted
    return Math.min(wanted, Math.max(TEXT_WIDTH_MIN, stringWidth(rows[0]?.[index] ?? '')))
  })
  const room = width - GAP.length * (columns.length - 1)
  if (sum(least) > room) return null
  for (let excess = sum(widths) - room; excess > 0; excess -= 1) {
    // The widest column that can still be narrower gives way.
    const spare = widths.map((width, index) => (width > (least[index] ?? 0) ? width : 0))
    const widest = spare.indexOf(Math.max(...spare))
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

type Fitted = (text: string, widthMax: number) => string

const blockOf = (names: Cells, width: number, fitted: Fitted) => {
  const nameWidth = Math.min(Math.max(...names.map((name) => stringWidth(name))), Math.floor(width / 2))
  const valueWidth = Math.max(1, width - nameWidth - GAP.length)
  return (cells: Cells, rowIndex: number): string => {
    const lines = names.map((name, index) =>
      `${padEnd(cutInMiddle(name, nameWidth, stringWidth), nameWidth)}${GAP}${fitted(cells[index] ?? '', valueWidth)}`.trimEnd(),
    )
    return `${rowIndex === 0 ? '' : '\n'}${lines.join('\n')}\n`
  }
}

const padStart = (text: string, width: number): string =>
  `${' '.repeat(Math.max(0, width - stringWidth(text)))}${text}`
const padEnd = (text: string, width: number): string =>
  `${text}${' '.repeat(Math.max(0, width - stringWidth(text)))}`
