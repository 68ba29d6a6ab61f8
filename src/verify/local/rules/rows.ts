/**
 * Rules that the tables and views of a published state must satisfy, as data: a sentence, and SQL that selects the rows that break the
 * rule. The rules in this file are made from the declarations: keys are unique, columns are filled, rows have their parents, and versions
 * follow each other.
 */
import type { Column, TableDeclaration } from '../../../model/columns.js'
import { ALL_TABLES, tableName } from '../../../model/sync-tables.js'
import { literal, qualified, quote } from '../../../warehouse/connection/ddl.js'
import {
  type MergedTable,
  mergedSampleSourceProgress,
  mergedSampleSources,
  mergedSurveyProgress,
  mergedSurveys,
} from '../../../warehouse/merge/merged-tables.js'
import { ALL_VIEWS } from '../../../warehouse/views/all.js'
import {
  sampleSourceProgressPeriods,
  surveyProgressPeriods,
} from '../../../warehouse/views/progress-periods.js'
import { sampleSourcePeriods, surveyPeriods } from '../../../warehouse/views/version-periods.js'
import type { ViewDeclaration } from '../../../warehouse/views/view-declaration.js'

export interface Rule {
  /** Stable, for programs. */
  readonly rule: string
  /** The table or view. */
  readonly where: string
  /** What is wrong if `sql` selects rows. */
  readonly says: string
  /** Selects the rows that break the rule. Its column `example` names each row, as `named` does. */
  readonly sql: string
}

/** SQL that names a row by these columns: `account=default id=12`. */
export const named = (columns: readonly string[], alias = ''): string => {
  const cell = (name: string) => `CAST(${alias === '' ? '' : `${alias}.`}${quote(name)} AS VARCHAR)`
  const parts = columns.map((name) => `${literal(`${name}=`)} || coalesce(${cell(name)}, 'null')`)
  return `concat_ws(' ', ${parts.join(', ')}) AS example`
}

const namesOf = (columns: readonly Column[]): readonly string[] => columns.map(({ name }) => name)

const list = (columns: readonly string[], alias = ''): string =>
  columns.map((name) => `${alias === '' ? '' : `${alias}.`}${quote(name)}`).join(', ')

/** SQL: whether two rows have the same key. A null equals a null. */
const sameKey = (key: readonly string[], one: string, other: string): string =>
  key.map((name) => `${one}.${quote(name)} IS NOT DISTINCT FROM ${other}.${quote(name)}`).join(' AND ')

/** SQL: whether any of these columns differs. */
const differ = (columns: readonly string[], one: string, other: string): string =>
  columns.map((name) => `${one}.${quote(name)} IS DISTINCT FROM ${other}.${quote(name)}`).join(' OR ')

type Relation = Pick<TableDeclaration, 'schema' | 'name' | 'key' | 'columns' | 'references'>

/** The rules of one table. A row of a history belongs to the current row, so its references need no rule of their own. */
function* declaredRules(
  { key, columns, references = [], ...relation }: Relation,
  rows = qualified(relation),
): Generator<Rule> {
  const where = tableName(relation)
  if (key.length > 0)
    yield {
      rule: 'keys_are_unique',
      where,
      says: 'several rows have the same key',
      sql: `SELECT ${named(key)} FROM ${rows} GROUP BY ${list(key)} HAVING count(*) > 1`,
    }
  const filled = namesOf(columns.filter(({ nullable }) => !nullable))
  yield {
    rule: 'columns_are_filled',
    where,
    says: 'a column is null that is declared not null',
    sql: `SELECT ${named(key.length > 0 ? key : filled)} FROM ${rows}
        WHERE ${filled.map((name) => `${quote(name)} IS NULL`).join(' OR ')}`,
  }
  for (const { columns, table, to } of references)
    yield {
      rule: 'rows_have_parents',
      where,
      says: `rows without their row in ${table}`,
      sql: `SELECT ${named(key, 'c')} FROM ${rows} c
      ANTI JOIN (SELECT ${to.map((name, index) => `${quote(name)} AS ${quote(columns[index] ?? name)}`).join(', ')} FROM main.${quote(table)}) p
      ON ${sameKey(columns, 'c', 'p')}`,
    }
}

/** In the table of days, a null in the key means "no source", so keys are compared as in `GROUP BY`. */
export const TABLE_RULES: readonly Rule[] = ALL_TABLES.flatMap((table) => [...declaredRules(table)])

/**
 * References of views follow from the tables, whose rules check them. The SQL names a view without its schema, so that a CTE with the same
 * name can hold its rows.
 */
export const VIEW_RULES: readonly Rule[] = ALL_VIEWS.flatMap((view) => [
  ...declaredRules({ ...view, references: [] }, quote(view.name)),
])

const MERGED = [mergedSurveys, mergedSampleSources, mergedSurveyProgress, mergedSampleSourceProgress] as const

function* versionRules({ current: { key }, history, hasVersions, values }: MergedTable): Generator<Rule> {
  if (history === null || !hasVersions) return
  const where = tableName(history)
  const identifying = [...key, 'valid_from']
  const inOrder = `(SELECT ${list(identifying)}, valid_to, lead(valid_from) OVER w AS next_from,
      hash(${list(namesOf(values))}) = lead(hash(${list(namesOf(values))})) OVER w AS equals_next
    FROM ${qualified(history)} WINDOW w AS (PARTITION BY ${list(key)} ORDER BY valid_from))`
  yield {
    rule: 'versions_end_after_they_begin',
    where,
    says: 'versions end before they begin',
    sql: `SELECT ${named(identifying)} FROM ${qualified(history)} WHERE valid_to <= valid_from`,
  }
  yield {
    rule: 'versions_do_not_overlap',
    where,
    says: 'versions overlap the next one',
    sql: `SELECT ${named(identifying)} FROM ${inOrder} WHERE next_from IS NOT NULL AND (valid_to IS NULL OR valid_to > next_from)`,
  }
  yield {
    rule: 'versions_differ',
    where,
    says: 'versions equal the next one, without a gap between them',
    sql: `SELECT ${named(identifying)} FROM ${inOrder} WHERE next_from = valid_to AND equals_next`,
  }
}

/** Two joins, because one join with all columns of a long history does not fit into the memory. */
function* currentRowRules(table: MergedTable): Generator<Rule> {
  const { history, hasVersions, readAtColumn: datedAt } = table
  if (history === null) return
  const { key } = table.current
  const current = qualified(table.current)
  const where = tableName(table.current)
  const beginsAt = hasVersions ? 'valid_from' : 'observed_at'
  const endsWrongly = hasVersions ? 'h.valid_to IS DISTINCT FROM t._missing_since OR ' : ''
  yield {
    rule: 'current_row_is_last_in_history',
    where,
    says: `the row is not dated like the last one in ${tableName(history)}`,
    sql: `SELECT ${named(key)} FROM (SELECT ${list(key)}, ${datedAt} FROM ${current}) t
      FULL JOIN (SELECT ${list(key)}, max(${beginsAt}) AS last_at FROM ${qualified(history)} GROUP BY ${list(key)}) h USING (${list(key)})
      WHERE t.${datedAt} IS DISTINCT FROM h.last_at`,
  }
  yield {
    rule: 'current_row_equals_history',
    where,
    says: `the row differs from the last one in ${tableName(history)}`,
    sql: `SELECT ${named(key, 't')} FROM ${current} t JOIN ${qualified(history)} h
      ON ${sameKey(key, 't', 'h')} AND h.${beginsAt} = t.${datedAt} WHERE ${endsWrongly}${differ(namesOf(table.values), 't', 'h')}`,
  }
  yield {
    rule: 'rows_are_seen_before_they_change',
    where,
    says: 'rows are dated before they were first seen',
    sql: `SELECT ${named(key)} FROM ${current} WHERE _first_seen_at > ${datedAt} OR _missing_since < ${datedAt}`,
  }
  yield {
    rule: 'history_begins_when_first_seen',
    where: tableName(history),
    says: 'rows begin before the record was first seen',
    sql: `SELECT ${named([...key, beginsAt], 'h')} FROM ${qualified(history)} h JOIN ${current} t
      ON ${sameKey(key, 't', 'h')} WHERE h.${beginsAt} < t._first_seen_at`,
  }
}

/** The histories: versions follow each other, and the last one is the current row. */
export const HISTORY_RULES: readonly Rule[] = MERGED.flatMap((table) => [
  ...versionRules(table),
  ...currentRowRules(table),
])

const PERIODS = [surveyPeriods, sampleSourcePeriods, surveyProgressPeriods, sampleSourceProgressPeriods]

const periodRules = (view: ViewDeclaration): readonly Rule[] => {
  const isOfVersions = view.key.includes('valid_from')
  const [from, to] = isOfVersions
    ? (['valid_from', 'valid_to'] as const)
    : (['observed_at', 'ended_at'] as const)
  const record = view.key.filter((name) => name !== from)
  return [
    {
      rule: 'periods_end_after_they_begin',
      where: view.name,
      says: 'rows end before they begin, or are confirmed before that or after their end',
      sql: `SELECT ${named(view.key)} FROM ${quote(view.name)}
        WHERE confirmed_until < ${quote(from)} OR confirmed_until > ${quote(to)} OR ${quote(to)} < ${quote(from)}`,
    },
    {
      rule: 'periods_do_not_overlap',
      where: view.name,
      says: 'rows hold at the same time as the next one',
      sql: `SELECT ${named(view.key)} FROM (SELECT ${list([...view.key, to])},
          lead(${quote(from)}) OVER (PARTITION BY ${list(record)} ORDER BY ${quote(from)}) AS next_at FROM ${quote(view.name)})
        WHERE ${quote(to)} > next_at OR (${quote(to)} IS NULL AND next_at IS NOT NULL)`,
    },
  ]
}

/** The views of periods: no row ends before it begins, or overlaps the next row. */
export const PERIOD_RULES: readonly Rule[] = PERIODS.flatMap(periodRules)
