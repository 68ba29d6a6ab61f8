/** Rules of the histories: versions follow each other, and the last one is the current row. */
import type { TableDeclaration } from '../../../model/columns.js'
import { tableName } from '../../../model/sync-tables.js'
import { qualified } from '../../../warehouse/connection/ddl.js'
import {
  type MergedTable,
  mergedSampleSourceProgress,
  mergedSampleSources,
  mergedSurveyProgress,
  mergedSurveys,
} from '../../../warehouse/merge/merged-tables.js'
import { differ, list, named, type Rule, sameKey } from '../rule.js'

const MERGED = [mergedSurveys, mergedSampleSources, mergedSurveyProgress, mergedSampleSourceProgress] as const

const historyRules = (table: MergedTable): readonly Rule[] => {
  if (table.history === null) return []
  const { kind, table: history } = table.history
  const common = { table, history, key: table.current.key, values: table.values.map(({ name }) => name) }
  return kind === 'versions'
    ? [...versionsFollow(common), ...lastIsCurrent(common, 'valid_from')]
    : lastIsCurrent(common, 'observed_at')
}

interface Histories {
  readonly table: MergedTable
  readonly history: TableDeclaration
  readonly key: readonly string[]
  readonly values: readonly string[]
}

const versionsFollow = ({ history, key, values }: Histories): readonly Rule[] => {
  const where = tableName(history)
  const identifying = [...key, 'valid_from']
  const inOrder = `(SELECT ${list(identifying)}, valid_to, lead(valid_from) OVER w AS next_from,
      hash(${list(values)}) = lead(hash(${list(values)})) OVER w AS equals_next
    FROM ${qualified(history)} WINDOW w AS (PARTITION BY ${list(key)} ORDER BY valid_from))`
  return [
    {
      rule: 'versions_end_after_they_begin',
      where,
      says: 'versions end before they begin',
      sql: `SELECT ${named(identifying)} FROM ${qualified(history)} WHERE valid_to <= valid_from`,
    },
    {
      rule: 'versions_do_not_overlap',
      where,
      says: 'versions overlap the next one',
      sql: `SELECT ${named(identifying)} FROM ${inOrder} WHERE next_from IS NOT NULL AND (valid_to IS NULL OR valid_to > next_from)`,
    },
    {
      rule: 'versions_differ',
      where,
      says: 'versions equal the next one, without a gap between them',
      sql: `SELECT ${named(identifying)} FROM ${inOrder} WHERE next_from = valid_to AND equals_next`,
    },
  ]
}

/** Two joins, because one that carries all columns of a long history does not fit into the memory. */
const lastIsCurrent = (
  { table, history, key, values }: Histories,
  beginsAt: 'valid_from' | 'observed_at',
): readonly Rule[] => {
  const current = qualified(table.current)
  const where = tableName(table.current)
  const datedAt = table.readAtColumn
  const endsWrongly = beginsAt === 'valid_from' ? 'h.valid_to IS DISTINCT FROM t._missing_since OR ' : ''
  return [
    {
      rule: 'current_row_is_last_in_history',
      where,
      says: `the row is not dated like the last one in ${tableName(history)}`,
      sql: `SELECT ${named(key)} FROM (SELECT ${list(key)}, ${datedAt} FROM ${current}) t
        FULL JOIN (SELECT ${list(key)}, max(${beginsAt}) AS last_at FROM ${qualified(history)} GROUP BY ${list(key)}) h USING (${list(key)})
        WHERE t.${datedAt} IS DISTINCT FROM h.last_at`,
    },
    {
      rule: 'current_row_equals_history',
      where,
      says: `the row differs from the last one in ${tableName(history)}`,
      sql: `SELECT ${named(key, 't')} FROM ${current} t JOIN ${qualified(history)} h
        ON ${sameKey(key, 't', 'h')} AND h.${beginsAt} = t.${datedAt} WHERE ${endsWrongly}${differ(values, 't', 'h')}`,
    },
    {
      rule: 'rows_are_seen_before_they_change',
      where,
      says: 'rows are dated before they were first seen',
      sql: `SELECT ${named(key)} FROM ${current} WHERE _first_seen_at > ${datedAt} OR _missing_since < ${datedAt}`,
    },
    {
      rule: 'history_begins_when_first_seen',
      where: tableName(history),
      says: 'rows begin before the record was first seen',
      sql: `SELECT ${named([...key, beginsAt], 'h')} FROM ${qualified(history)} h JOIN ${current} t
        ON ${sameKey(key, 't', 'h')} WHERE h.${beginsAt} < t._first_seen_at`,
    },
  ]
}

export const HISTORY_RULES: readonly Rule[] = MERGED.flatMap(historyRules)
