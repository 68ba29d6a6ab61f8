/** All tables and views with their declared columns and comments. */
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

/** The tables, the views, then the bookkeeping of the job: what analysts need most comes first. */
export const CATALOG: readonly Relation[] = [
  ...TABLES.filter(({ schema }) => schema === 'main'),
  ...VIEWS,
  ...TABLES.filter(({ schema }) => schema === '_sync'),
]
