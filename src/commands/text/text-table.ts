/** Texts for people: aligned tables and paragraphs that fit a terminal, and its colours. */
import { styleText } from 'node:util'
import stringWidth from 'string-width'
import { cutInMiddle } from '../../base/human.js'
import { ESCAPE, visible } from '../../logging/visible.js'
import { terminalFeatures } from '../../settings/environment.js'
import type { CliContext } from '../context.js'

interface TableShape {
  readonly indent?: string
  /** The number of first columns (words) that align left. The others (numbers) align right. */
  readonly leftColumns?: number
  /** Columns of the terminal. The widest of the columns at `cut` are cut in the middle until the table fits. */
  readonly widthMax?: number
  readonly cut?: readonly number[]
}

/** A table with aligned columns. A row of one cell is a remark: it may be wider than its column, and is not cut. */
export const textTable = (
  rows: readonly (readonly string[])[],
  { indent = '', leftColumns = 1, widthMax = Number.POSITIVE_INFINITY, cut = [] }: TableShape = {},
): string => {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const isRemark = (row: readonly string[]) => row.length === 1 && columns > 1
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(0, ...rows.map((row) => (isRemark(row) ? 0 : stringWidth(row[column] ?? '')))),
  )
  shrink(widths, cut, widthMax - indent.length - 2 * (columns - 1))
  const line = (row: readonly string[]): string => {
    if (isRemark(row)) return row[0] ?? ''
    const cells = widths.map((width, column) => {
      const cell = cutInMiddle(row[column] ?? '', width, stringWidth)
      const blank = ' '.repeat(width - stringWidth(cell))
      return column < leftColumns ? cell + blank : blank + cell
    })
    return cells.join('  ')
  }
  return rows.map((row) => `${indent}${line(row)}`.trimEnd()).join('\n')
}

/** Takes room from the widest of the columns at `cut`, until all columns take at most `widthMax`. */
const shrink = (widths: number[], cut: readonly number[], widthMax: number): void => {
  const widthOf = (column: number) => widths[column] ?? 0
  for (let excess = widths.reduce((sum, width) => sum + width, -widthMax); excess > 0; excess -= 1) {
    const widest = cut.reduce((a, b) => (widthOf(b) > widthOf(a) ? b : a), cut[0] ?? 0)
    if (cut.length === 0 || widthOf(widest) <= CELL_WIDTH_MIN) return
    widths[widest] = widthOf(widest) - 1
  }
}

/** A narrower cell would say nothing. */
const CELL_WIDTH_MIN = 8

/** A text in lines of at most `widthMax` columns. All but the first begin with `indent`. A longer word, such as a path, stays whole. */
export const wrapped = (text: string, widthMax: number, indent = '  '): string => {
  let width = 0
  return text
    .split(' ')
    .map((word, index) => {
      const wordWidth = stringWidth(word.replaceAll(ESCAPE, '\u001b'))
      const breaks = index > 0 && width + 1 + wordWidth > widthMax
      width = breaks ? indent.length + wordWidth : width + wordWidth + (index > 0 ? 1 : 0)
      return `${index === 0 ? '' : breaks ? `\n${indent}` : ' '}${word}`
    })
    .join('')
}

/**
 * Sentences for people. On a terminal, lines end between words, and continuation lines are indented by two columns. Elsewhere the text
 * stays as it is.
 */
export const brokenAtWords = (text: string, { isTTY, columns }: CliContext['stdout']): string =>
  isTTY && columns
    ? text
        .split('\n')
        .map((line) => wrapped(line, columns, `${/^ */.exec(line)}  `))
        .join('\n')
    : text

export type Terminal = ReturnType<typeof terminalOf>

export const terminalOf = ({ env, stdout }: Pick<CliContext, 'env' | 'stdout'>) => ({
  width: widthOf(stdout),
  colour: terminalFeatures(env, stdout).colour,
})

/** Columns. Some terminals say that they have none. */
export const widthOf = ({ isTTY, columns }: CliContext['stdout']): number =>
  (isTTY ? columns : 0) || WIDTH_DEFAULT

/** The width of what is no terminal. */
export const WIDTH_DEFAULT = 80

export type Colour = 'green' | 'yellow' | 'red'

/** A coloured text for a terminal. Control characters of the text stay text. */
export const painted = (text: string, colour: Colour): string =>
  styleText(colour, visible(text), { validateStream: false }).replaceAll('\u001b', ESCAPE)
