/** Rules of every table and view, made from the declarations: keys are unique, columns are filled, and rows have their parents. */
import type { TableDeclaration } from '../../../model/columns.js'
import { ALL_TABLES, tableName } from '../../../model/sync-tables.js'
import { qualified, quote } from '../../../warehouse/connection/ddl.js'
import { ALL_VIEWS } from '../../../warehouse/views/all.js'
import { list, named, type Rule, sameKey } from '../rule.js'

type Relation = Pick<TableDeclaration, 'schema' | 'name' | 'key' | 'columns' | 'references'>

const keysAreUnique = (relation: Relation): readonly Rule[] =>
  relation.key.length === 0
    ? []
    : [
        {
          rule: 'keys_are_unique',
          where: tableName(relation),
          says: 'several rows have the same key',
          sql: `SELECT ${named(relation.key)} FROM ${qualified(relation)} GROUP BY ${list(relation.key)} HAVING count(*) > 1`,
        },
      ]

const columnsAreFilled = (relation: Relation): readonly Rule[] => {
  const filled = relation.columns.filter(({ nullable }) => !nullable)
  const identifying = relation.key.length > 0 ? relation.key : filled.map(({ name }) => name)
  return [
    {
      rule: 'columns_are_filled',
      where: tableName(relation),
      says: 'a column is null that is declared not null',
      sql: `SELECT ${named(identifying)} FROM ${qualified(relation)}
        WHERE ${filled.map(({ name }) => `${quote(name)} IS NULL`).join(' OR ')}`,
    },
  ]
}

/** A row of a history or a view belongs to the current row, so the references of all are the same rule. */
const rowsHaveParents = (relation: Relation): readonly Rule[] =>
  (relation.references ?? []).map(({ columns, table, to }) => ({
    rule: 'rows_have_parents',
    where: tableName(relation),
    says: `rows without their row in ${table}`,
    sql: `SELECT ${named(relation.key, 'c')} FROM ${qualified(relation)} c
      ANTI JOIN (SELECT ${to.map((name, place) => `${quote(name)} AS ${quote(columns[place] ?? name)}`).join(', ')} FROM main.${quote(table)}) p
      ON ${sameKey(columns, 'c', 'p')}`,
  }))

/** The table of days has its own null: no source. Its key is unique in the sense of `GROUP BY`. */
export const TABLE_RULES: readonly Rule[] = ALL_TABLES.flatMap((table) => [
  ...keysAreUnique(table),
  ...columnsAreFilled(table),
  ...rowsHaveParents(table),
])

/** Views take their references from the tables, whose rules check them. */
export const VIEW_RULES: readonly Rule[] = ALL_VIEWS.flatMap((view) => [
  ...keysAreUnique(view),
  ...columnsAreFilled(view),
])
