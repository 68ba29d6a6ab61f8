/**
 * Which tables share the workbook `fieldwork.xlsx`. Excel and the library keep a whole workbook in memory, so it holds only so many
 * cells. A table that does not fit gets a workbook of its own, which is written row by row.
 */

export interface TableSize {
  readonly rows: number
  readonly columns: number
  /** Bytes of all texts in UTF-8. */
  readonly textBytes: number
}

/** The library takes about 180 MiB of memory for them. */
export const SHARED_CELLS_MAX = 300_000

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
