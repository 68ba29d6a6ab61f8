/** Fills a table with made-up rows of one account, as SQL. */
import type { Column, TableDeclaration } from '../../../src/model/columns.js'

export const insertRows = ({ schema, name, columns }: TableDeclaration, rows: number): string =>
  `INSERT INTO ${schema}.${name} (${columns.map((column) => `"${column.name}"`).join(', ')})
    SELECT ${columns.map(cell).join(', ')} FROM range(1, ${rows} + 1) r(i)`

const cell = ({ name, type }: Column): string => {
  if (name === 'account') return `'acme'`
  if (type === 'BOOLEAN') return 'i % 2 = 0'
  if (type === 'TIMESTAMPTZ') return 'make_timestamptz(1700000000000000 + i * 1000001)'
  if (type === 'DATE') return `DATE '2026-01-01' + (i % 365)::INTEGER`
  if (type === 'DOUBLE') return 'i / 7.0'
  if (type === 'BIGINT') return 'i'
  return type === 'JSON' ? 'NULL' : `concat('=${name} ', i)`
}
