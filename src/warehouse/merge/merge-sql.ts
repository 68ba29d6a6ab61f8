/** Makes the SQL text of the merge from table declarations. Pure; `stored-rows.ts` and `merge.ts` run the statements. */
import type { Column, TableDeclaration } from '../../model/columns.js'
import { selectCell } from '../connection/cells.js'
import { literal, qualified, quote } from '../connection/ddl.js'
import type { MergedTable } from './merged-tables.js'

/** Selects the stored rows of the surveys in `condition`. */
export const selectStored = (
  table: MergedTable,
  values: readonly Column[],
  condition: SurveyCondition,
  notBefore: string | null = null,
): string =>
  `SELECT ${[...idColumns(table), ...values].map(selectCell).join(', ')},
      "_first_seen_at", ${quote(table.readAtColumn)} AS "_dated_at", "_missing_since"
    FROM ${qualified(table.current)} WHERE ${condition.on(surveyIdColumn(table))}
      ${notBefore === null ? '' : `AND "day" >= DATE ${literal(notBefore)}`}`

/** The columns of the key without the account. */
export const idColumns = (table: MergedTable): readonly Column[] =>
  table.key.filter(({ name }) => name !== 'account')

const surveyIdColumn = (table: MergedTable): string =>
  table.key.some(({ name }) => name === 'survey_id') ? 'survey_id' : 'id'

export interface SurveyCondition {
  /** The condition on a table with the ids of surveys in `idColumn`. */
  on(idColumn: string): string
  readonly parameters: readonly (string | number)[]
}

/** Selects rows of some surveys of an account: by a list of constants, which prunes the scan, or by a join for many surveys. */
export const conditionOnSurveys = (account: string, surveyIds: readonly number[]): SurveyCondition => {
  const isShort = surveyIds.length <= CONSTANTS_MAX
  const ids = isShort
    ? surveyIds.map((_, place) => `$${place + 2}`).join(', ')
    : 'SELECT unnest(CAST($2::JSON AS BIGINT[]))'
  return {
    on: (idColumn) => `account = $1 AND ${quote(idColumn)} IN (${ids})`,
    parameters: [account, ...(isShort ? surveyIds : [JSON.stringify(surveyIds)])],
  }
}

/** A list of twenty thousand constants takes seconds. */
const CONSTANTS_MAX = 100

/**
 * Deletes the stored rows that changed; their new versions are appended. An update in place would write all columns of each row
 * group anew that holds a changed row, which are all row groups of a large table.
 */
export const deleteChanged = (table: MergedTable): string =>
  `DELETE FROM ${qualified(table.current)} t USING temp.${quote(table.changed)} c WHERE ${sameKey(table.key, 't', 'c')}`

export const markGone = (table: MergedTable): string =>
  `UPDATE ${qualified(table.current)} t SET "_missing_since" = g."_missing_since"
    FROM temp.${quote(table.gone)} g WHERE ${sameKey(table.key, 't', 'g')}`

/** Ends the current versions of the rows in a temporary table, at the time in its column `endsAt`. */
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
