/** The SQL of the merge, as text. Pure: a table in, a statement out; `stored-rows.ts` and `merge.ts` run them. */
import type { Column, TableDeclaration } from '../../model/columns.js'
import { selectCell } from '../connection/cells.js'
import { literal, qualified, quote } from '../connection/ddl.js'
import type { MergedTable } from './merged-tables.js'

/** What is stored of some surveys, which `ofSurveys` names. */
export const selectStored = (
  table: MergedTable,
  values: readonly Column[],
  condition: SurveyCondition,
  notBefore: string | null = null,
): string =>
  `SELECT ${[...idColumns(table), ...values].map(selectCell).join(', ')},
      "_first_seen_at", ${quote(table.readAtColumn)} AS "_dated_at", "_missing_since"
    FROM ${qualified(table.current)} WHERE ${condition.of(surveyIdColumn(table))}
      ${notBefore === null ? '' : `AND "day" >= DATE ${literal(notBefore)}`}`

/** The columns of the key that tell rows of one account apart. */
export const idColumns = (table: MergedTable): readonly Column[] =>
  table.key.filter(({ name }) => name !== 'account')

const surveyIdColumn = (table: MergedTable): string =>
  table.key.some(({ name }) => name === 'survey_id') ? 'survey_id' : 'id'

export interface SurveyCondition {
  /** The condition on the rows of a table, which has the ids of surveys in `idColumn`. */
  of(idColumn: string): string
  readonly parameters: readonly (string | number)[]
}

/** Rows of some surveys of an account: as a list of constants, which prunes the scan, or, of many, as a join. */
export const ofSurveys = (account: string, surveyIds: readonly number[]): SurveyCondition => {
  const isShort = surveyIds.length <= CONSTANTS_MAX
  const ids = isShort
    ? surveyIds.map((_, place) => `$${place + 2}`).join(', ')
    : 'SELECT unnest(CAST($2::JSON AS BIGINT[]))'
  return {
    of: (idColumn) => `account = $1 AND ${quote(idColumn)} IN (${ids})`,
    parameters: [account, ...(isShort ? surveyIds : [JSON.stringify(surveyIds)])],
  }
}

/** Twenty thousand constants take seconds. */
const CONSTANTS_MAX = 100

/** Gives the stored rows the values of the changed ones. */
export const updateChanged = (table: MergedTable): string => {
  const updated = [...table.values.map(({ name }) => name), table.readAtColumn]
  return `UPDATE ${qualified(table.current)} t
    SET ${updated.map((name) => `${quote(name)} = c.${quote(name)}`).join(', ')}, "_missing_since" = NULL
    FROM temp.${quote(table.changed)} c WHERE ${sameKey(table.key, 't', 'c')}`
}

export const markGone = (table: MergedTable): string =>
  `UPDATE ${qualified(table.current)} t SET "_missing_since" = g."_missing_since"
    FROM temp.${quote(table.gone)} g WHERE ${sameKey(table.key, 't', 'g')}`

/** Ends the current version of every row of a temporary table, at the time in its column `endsAt`. */
export const endVersions = (
  history: TableDeclaration,
  key: readonly Column[],
  temporaryTable: string,
  endsAt: string,
): string =>
  `UPDATE ${qualified(history)} h SET "valid_to" = c.${quote(endsAt)}
    FROM temp.${quote(temporaryTable)} c WHERE ${sameKey(key, 'h', 'c')} AND h."valid_to" IS NULL`

const sameKey = (key: readonly Column[], a: string, b: string): string =>
  key
    .map(
      ({ name, nullable }) =>
        `${a}.${quote(name)} ${nullable ? 'IS NOT DISTINCT FROM' : '='} ${b}.${quote(name)}`,
    )
    .join(' AND ')
