/** Everything that can be selected from, tables and views alike, as it is declared. */
import type { Column, TableDeclaration } from '../../model/columns.js'
import { ALL_TABLES } from '../../model/sync-tables.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'

export interface Relation
  extends Pick<TableDeclaration, 'schema' | 'name' | 'comment' | 'key' | 'references'> {
  readonly kind: 'table' | 'view'
  readonly columns: readonly Column[]
}

/** What analysts read first: the tables, the views, then the bookkeeping of the job. */
export const CATALOG: readonly Relation[] = [
  ...ALL_TABLES.filter(({ schema }) => schema === 'main').map(ofKind('table')),
  ...ALL_VIEWS.map(ofKind('view')),
  ...ALL_TABLES.filter(({ schema }) => schema === '_sync').map(ofKind('table')),
]

function ofKind(kind: Relation['kind']) {
  return ({ schema, name, comment, key, columns, references = [] }: Omit<Relation, 'kind'>): Relation => ({
    kind,
    schema,
    name,
    comment,
    key,
    columns,
    references,
  })
}
