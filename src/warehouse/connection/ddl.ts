/** Makes DDL from the table declarations: CREATE, COMMENT, and temporary tables for staged rows. Pure. */
import type { Column, TableDeclaration } from '../../model/columns.js'

export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** A string as an SQL literal. Only for names, paths and comments: values are parameters. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Escapes a path for arguments in which DuckDB expands patterns. */
export const withoutPattern = (path: string): string => path.replaceAll(/[[*?]/g, '[$&]')

export const qualified = ({ schema, name }: { readonly schema: string; readonly name: string }): string =>
  `${quote(schema)}.${quote(name)}`

/** `a."x", a."y"` */
export const selected = (columns: readonly Pick<Column, 'name'>[], alias: string): string =>
  columns.map(({ name }) => `${alias}.${quote(name)}`).join(', ')

/** Declares no keys and no indexes; `merge.ts` keeps keys unique (docs/decisions/warehouse.md#0031-tables-have-no-keys-and-no-indexes). */
export const createTable = (table: TableDeclaration): string =>
  `CREATE TABLE ${qualified(table)} (
  ${table.columns.map(columnDefinition).join(',\n  ')}
)`

export const addColumn = (table: TableDeclaration, column: Column): string =>
  `ALTER TABLE ${qualified(table)} ADD COLUMN ${quote(column.name)} ${storedType(column)}`

/** Texts are compared byte by byte: the `default_collation` of a reader's session could join accounts that differ only in case. */
const storedType = ({ type }: Pick<Column, 'type'>): string =>
  type === 'VARCHAR' ? 'VARCHAR COLLATE C' : type

const columnDefinition = (column: Column): string =>
  `${quote(column.name)} ${storedType(column)}${column.nullable ? '' : ' NOT NULL'}`

export const commentsOn = (table: TableDeclaration): readonly string[] => [
  `COMMENT ON TABLE ${qualified(table)} IS ${literal(table.comment)}`,
  ...table.columns.map(
    ({ name, comment }) => `COMMENT ON COLUMN ${qualified(table)}.${quote(name)} IS ${literal(comment)}`,
  ),
]

export const createTemporary = (name: string, columns: readonly Column[]): string =>
  `CREATE OR REPLACE TEMP TABLE ${quote(name)} (${columns
    .map((column) => `${quote(column.name)} ${column.type}`)
    .join(', ')})`
