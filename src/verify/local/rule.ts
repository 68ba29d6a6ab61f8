/** A rule that the tables and views of a published state must satisfy, as data: what it says, and SQL that selects what breaks it. */
import { literal, quote } from '../../warehouse/connection/ddl.js'

export interface Rule {
  /** Stable, for programs. */
  readonly rule: string
  /** The table or view. */
  readonly where: string
  /** What is wrong, if it selects rows. */
  readonly says: string
  /** Selects the rows that break the rule. Its column `example` names each of them, as `named` does. */
  readonly sql: string
}

/** SQL that names a row by these columns: `account=default id=12`. */
export const named = (columns: readonly string[], alias = ''): string => {
  const cell = (name: string) => `CAST(${alias === '' ? '' : `${alias}.`}${quote(name)} AS VARCHAR)`
  const parts = columns.map((name) => `${literal(`${name}=`)} || coalesce(${cell(name)}, 'null')`)
  return `concat_ws(' ', ${parts.join(', ')}) AS example`
}

export const list = (columns: readonly string[], alias = ''): string =>
  columns.map((name) => `${alias === '' ? '' : `${alias}.`}${quote(name)}`).join(', ')

/** SQL: whether two rows have the same key. A null equals a null. */
export const sameKey = (key: readonly string[], one: string, other: string): string =>
  key.map((name) => `${one}.${quote(name)} IS NOT DISTINCT FROM ${other}.${quote(name)}`).join(' AND ')

/** SQL: whether any of these columns differs. */
export const differ = (columns: readonly string[], one: string, other: string): string =>
  columns.map((name) => `${one}.${quote(name)} IS DISTINCT FROM ${other}.${quote(name)}`).join(' OR ')
