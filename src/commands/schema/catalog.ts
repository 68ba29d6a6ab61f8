/** Everything that can be selected from, tables and views alike, as it is declared. */
import type { Column, TableDeclaration } from '../../model/columns.js'
import { ALL_TABLES } from '../../model/sync-tables.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'

export interface Relation
  extends Pick<TableDeclaration, 'schema' | 'name' | 'comment' | 'key' | 'references'> {
  readonly kind: 'table' | 'view'
  readonly columns: readonly Column[]
}

const TABLES = ALL_TABLES.map((table): Relation => ({ kind: 'table', references: [], ...table }))
const VIEWS = ALL_VIEWS.map(({ sql: _, ...view }): Relation => ({ kind: 'view', references: [], ...view }))

/** What analysts read first: the tables, the views, then the bookkeeping of the job. */
export const CATALOG: readonly Relation[] = [
  ...TABLES.filter(({ schema }) => schema === 'main'),
  ...VIEWS,
  ...TABLES.filter(({ schema }) => schema === '_sync'),
]
