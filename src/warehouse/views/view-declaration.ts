/** The declaration of a view: like a table's, with the SQL of the view. */
import type { Column, TableDeclaration } from '../../model/columns.js'
import type { ViewName } from '../../model/publish-formats.js'
import { literal, quote } from '../connection/ddl.js'

/** `key` identifies a row, as in a table. Columns are in the order of the view. */
export interface ViewDeclaration
  extends Pick<TableDeclaration, 'comment' | 'key' | 'sortedBy' | 'references'> {
  readonly schema: 'main'
  readonly name: ViewName
  readonly columns: readonly Column[]
  readonly sql: string
}

/** The names of columns for a SELECT, a line each. */
export const listed = (columns: readonly Pick<Column, 'name'>[], alias?: string): string =>
  columns.map(({ name }) => (alias === undefined ? quote(name) : `${alias}.${quote(name)}`)).join(',\n  ')

/** The view alone, for a database in memory, where nobody reads comments. */
export const defineView = ({ name, sql }: ViewDeclaration): string =>
  `CREATE OR REPLACE VIEW main.${quote(name)} AS ${sql}`

export const createView = (view: ViewDeclaration): readonly string[] => [
  defineView(view),
  `COMMENT ON VIEW main.${quote(view.name)} IS ${literal(view.comment)}`,
  ...view.columns.map(
    ({ name, comment }) => `COMMENT ON COLUMN main.${quote(view.name)}.${quote(name)} IS ${literal(comment)}`,
  ),
]

export const columnsFrom = (table: TableDeclaration, names: readonly string[]): readonly Column[] =>
  names.map((name) => columnOf(table, name))

export const columnOf = (table: TableDeclaration, name: string, as: Partial<Column> = {}): Column => {
  const column = table.columns.find((declared) => declared.name === name)
  if (column === undefined) throw new TypeError(`${table.name} has no column ${name}`)
  return { ...column, ...as }
}
