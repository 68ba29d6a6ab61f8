/** Makes DDL from the table declarations: CREATE, COMMENT, and temporary tables for staged rows. Pure. */
import type { Column, TableDeclaration } from '../../model/columns.js'

export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** A string as an SQL literal. Only for names, paths and comments: values are parameters. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

export const qualified = (table: Pick<TableDeclaration, 'schema' | 'name'>): string =>
  `${quote(table.schema)}.${quote(table.name)}`

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

/**
 * Texts are compared byte by byte, whatever `default_collation` a reader's session has. Otherwise it would join accounts, and hide
 * changes, that differ only in case.
 */
const storedType = ({ type }: Pick<Column, 'type'>): string => (type === 'VARCHAR' ? TEXT : type)
const TEXT = 'VARCHAR COLLATE C'

/** For a table whose texts an older version created without a collation. */
export const collateTexts = (table: TableDeclaration): readonly string[] =>
  table.columns
    .filter(({ type }) => type === 'VARCHAR')
    .map(({ name }) => `ALTER TABLE ${qualified(table)} ALTER COLUMN ${quote(name)} TYPE ${TEXT}`)

const columnDefinition = (column: Column): string =>
  `${quote(column.name)} ${storedType(column)}${column.nullable ? '' : ' NOT NULL'}`

export const commentsOn = (table: TableDeclaration): readonly string[] => [
  `COMMENT ON TABLE ${qualified(table)} IS ${literal(table.comment)}`,
  ...table.columns.map((column) => commentOnColumn(table, column)),
]

const commentOnColumn = (table: TableDeclaration, column: Column): string =>
  `COMMENT ON COLUMN ${qualified(table)}.${quote(column.name)} IS ${literal(column.comment)}`

/** A fresh, empty temporary table. */
export const createTemporary = (name: string, columns: readonly Column[]): string =>
  `CREATE OR REPLACE TEMP TABLE ${quote(name)} (${columns
    .map((column) => `${quote(column.name)} ${column.type}`)
    .join(', ')})`
