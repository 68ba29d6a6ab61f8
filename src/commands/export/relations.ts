/** The tables and views of an export: the requested ones that the published state has. */
import { ExpectedError } from '../../base/errors.js'
import { nearest } from '../../base/suggest.js'
import type { Column, TableDeclaration } from '../../model/columns.js'
import { ALL_TABLES, tableName } from '../../model/sync-tables.js'
import { columnPaths, type Sql } from '../../warehouse/connection/database.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import { needsAction } from '../../warehouse/views/needs-action.js'
import { surveysToday } from '../../warehouse/views/overviews.js'

/** A table or view with its published columns. */
export interface Relation {
  readonly table: TableDeclaration
  readonly columns: readonly Column[]
}

const VIEWS: readonly TableDeclaration[] = ALL_VIEWS
export const ALL: readonly TableDeclaration[] = [...ALL_TABLES, ...VIEWS]

export const isView = (table: TableDeclaration): boolean => VIEWS.includes(table)

/** The first sheets of a workbook: what people want to see first. */
const FIRST_SHEETS: readonly TableDeclaration[] = [surveysToday, needsAction]

/** The declarations of `names`, in their order; for null, of all tables outside `_sync`. */
export const requestedTables = (
  names: readonly string[] | null,
  isWorkbook: boolean,
): readonly TableDeclaration[] => {
  if (names === null)
    return [...(isWorkbook ? FIRST_SHEETS : []), ...ALL_TABLES.filter(({ schema }) => schema === 'main')]
  const known = ALL.map(tableName)
  const problems = names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = nearest(name, known) ?? known.find((full) => full === `_sync.${name}`) ?? null
      return `there is no table ${name}${meant === null ? '' : `: did you mean ${meant}?`}`
    })
  if (problems.length > 0 || names.length === 0)
    throw new ExpectedError(
      'export_request',
      `--tables: ${problems.length > 0 ? problems.join('; ') : 'names no table'} (fieldwork-sync schema lists them)`,
    )
  return [...new Set(names)].flatMap((name) => ALL.filter((table) => tableName(table) === name))
}

/** The published tables with their published columns. A state of an older version lacks newer tables and columns. */
export const findTables = async (
  sql: Sql,
  requested: readonly TableDeclaration[],
  { tables, source }: { readonly tables: readonly string[] | null; readonly source: string },
): Promise<readonly Relation[]> => {
  const paths = await columnPaths(sql)
  const relations = requested.map((table) => ({
    table,
    columns: table.columns.filter(({ name }) => paths.has(`${table.schema}.${table.name}.${name}`)),
  }))
  const absent = relations.find(({ columns }) => columns.length === 0)
  if (tables !== null && absent !== undefined)
    throw new ExpectedError(
      'export_request',
      `--tables: ${tableName(absent.table)} is not in ${source}, which an older fieldwork-sync published. Run fieldwork-sync sync first`,
    )
  return relations.filter(({ columns }) => columns.length > 0)
}
