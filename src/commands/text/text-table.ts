/**
 * A text table with aligned columns. The first `leftColumns` columns (words) align left, the others (numbers) right. A row of one
 * cell is a remark, and may be wider than its column.
 */
export const textTable = (rows: readonly (readonly string[])[], indent = '', leftColumns = 1): string => {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => (row.length === 1 && columns > 1 ? 0 : (row[column]?.length ?? 0)))),
  )
  return rows
    .map((row) => {
      const cells = widths.map((width, column) => {
        const cell = row[column] ?? ''
        return column < leftColumns ? cell.padEnd(width) : cell.padStart(width)
      })
      return `${indent}${cells.join('  ')}`.trimEnd()
    })
    .join('\n')
}

const COLOURS = { green: 32, yellow: 33, red: 31 } as const
export type Colour = keyof typeof COLOURS

/** For terminals. */
export const painted = (text: string, colour: Colour): string => `\u001b[${COLOURS[colour]}m${text}\u001b[0m`
