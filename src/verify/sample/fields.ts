/** Compares the fields of two rows. */
import type { Cell, Column } from '../../model/columns.js'
import type { CellRow } from '../../model/warehouse.js'
import type { Difference } from './verdict.js'

const cellOf = (row: CellRow | null, name: string): Cell => row?.[name] ?? null

/** The differing fields of these columns. A missing stored row differs in every field that the service fills. */
export const differencesOf = (
  columns: readonly Column[],
  stored: CellRow | null,
  service: CellRow,
): readonly Difference[] =>
  columns.flatMap(({ name }) => {
    const [ours, theirs] = [cellOf(stored, name), cellOf(service, name)]
    return ours === theirs ? [] : [{ field: name, stored: ours, service: theirs }]
  })

/** Unknown fields: the service may add some at any time, and says nothing about it. */
export const EXTRA = '_extra'
