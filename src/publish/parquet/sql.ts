/** Makes the SQL text of a publish from table declarations. Pure; `write-table.ts` runs the statements. */
import type { Column } from '../../model/columns.js'
import { literal, qualified, quote, withoutPattern } from '../../warehouse/connection/ddl.js'
import {
  isOfSurveys,
  isPartitioned,
  type PartitionedTable,
  type PublishedTable,
  UNKNOWN_MONTH,
} from './tables.js'

/**
 * Counts the rows of every partition and computes its digest, in one scan. A digest is the sum of the hashes of the rows, once
 * with the columns in order and once in reverse. So it does not depend on the order of rows
 * (docs/decisions/publish.md#0044-digests-decide-which-partitions-changed).
 */
export const digestPartitions = (table: PublishedTable): string =>
  `SELECT ${partitionColumns(table)}, ${digest(table)} FROM ${source(table)} GROUP BY ALL ORDER BY ALL`

/** The digests of written files, one row per file. */
export const digestFiles = (table: PublishedTable, files: readonly string[]): string =>
  `SELECT filename, ${digest(table)} FROM read_parquet([${files.map((file) => literal(withoutPattern(file))).join(', ')}],
    filename = true, hive_partitioning = false) t GROUP BY ALL`

/** Temporary table of the changed partitions of one table, each with its index. */
export const CHANGED_TABLE = 'changed_partitions'
export const CHANGED_COLUMNS: readonly Column[] = [
  { name: 'account', type: 'VARCHAR', nullable: true, comment: '' },
  { name: 'created_month', type: 'VARCHAR', nullable: true, comment: '' },
  { name: 'partition_index', type: 'BIGINT', nullable: false, comment: '' },
]

/** Temporary table of the surveys in these partitions. */
const CHANGED_SURVEYS_TABLE = 'changed_surveys'

/**
 * Stages the surveys of the changed partitions. DuckDB then reads only the row groups of a table that may hold their ids: a month of
 * 1,000,000 surveys takes a third of the CPU of a scan that computes the month of each row. `unknown` are the tables of which rows in an
 * unknown month are staged too.
 */
export const stageSurveys = (unknown: readonly PartitionedTable[]): string =>
  `CREATE OR REPLACE TEMP TABLE ${CHANGED_SURVEYS_TABLE} AS ${changedSurveys(unknown)}`

const changedSurveys = (unknown: readonly PartitionedTable[]): string => {
  const known = `SELECT s.account, s.id, ${CREATED_MONTH} AS created_month FROM main.surveys s`
  const others = unknown.map(
    (table) => `SELECT DISTINCT t.account, t.${quote(table.surveyId)}, ${literal(UNKNOWN_MONTH)}
      FROM ${qualified(table.declaration)} t ANTI JOIN main.surveys s ON ${ofSurvey(table, 's')}`,
  )
  return `SELECT c.partition_index, r.account, r.id
    FROM (${[known, ...others].join(' UNION ALL ')}) r
    JOIN temp.${CHANGED_TABLE} c ON c.account = r.account AND c.created_month = r.created_month`
}

/** Temporary table of the surveys for which a view is evaluated. */
const EVALUATED_SURVEYS_TABLE = 'evaluated_surveys'

/**
 * Stages the surveys of the changed partitions, and of each account the one that was listed first: that listing decides which are new. Each
 * survey is staged once, because the tables of a view are joined with them.
 */
export const stageEvaluated = (unknown: readonly PartitionedTable[]): string =>
  `CREATE OR REPLACE TEMP TABLE ${EVALUATED_SURVEYS_TABLE} AS
  SELECT account, id FROM (${changedSurveys(unknown)})
  UNION
  SELECT account, arg_min(id, valid_from) FROM main.surveys_history GROUP BY account`

/** The SQL of a view for these surveys alone. `tables` are those that it reads. */
export const ofEvaluated = (sql: string, tables: readonly PartitionedTable[]): string =>
  tables.reduce(
    (text, table) =>
      text.replaceAll(
        new RegExp(`\\bmain\\.${table.declaration.name}\\b`, 'g'),
        `(SELECT t.* FROM ${qualified(table.declaration)} t JOIN temp.${EVALUATED_SURVEYS_TABLE} e ON ${ofSurvey(table, 'e')})`,
      ),
    sql,
  )

/** Temporary table of the rows of these partitions. */
export const STAGED_TABLE = 'staged_partitions'

/** Stages all changed rows in one scan of the table. They are sorted by partition, so that no file needs another scan. */
export const stageChanged = (table: PublishedTable): string =>
  `CREATE OR REPLACE TEMP TABLE ${STAGED_TABLE} AS
  SELECT c.partition_index, ${table.columns.map((column) => `${published(column)} AS ${quote(fileColumn(column))}`).join(', ')}
  FROM ${qualified(table.declaration)} t
  JOIN ${isPartitioned(table) ? `temp.${CHANGED_SURVEYS_TABLE} c ON ${ofSurvey(table, 'c')}` : `temp.${CHANGED_TABLE} c ON true`}
  ORDER BY c.partition_index`

/** Writes the partition with this index as one file, its rows sorted by key. */
export const copyPartition = (table: PublishedTable, index: number, file: string): string => {
  const { key, columns } = table.declaration
  const order = key.length > 0 ? key : columns.map(({ name }) => name)
  const sorted = table.columns.filter(({ name }) => order.includes(name))
  return `COPY (SELECT ${table.columns.map((column) => `${quote(fileColumn(column))} AS ${quote(column.name)}`).join(', ')}
      FROM temp.${STAGED_TABLE} WHERE partition_index = ${index} ORDER BY ${sorted.map((column) => quote(fileColumn(column))).join(', ')})
    TO ${literal(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, USE_TMP_FILE false,
      KV_METADATA ${metadata(table)})`
}

/** DuckDB's default. A month of surveys is one or a few row groups, each with the smallest and largest value of every column. */
const ROW_GROUP_ROWS = 122_880

/** Every file carries its comments. Nothing here may differ between runs, because equal rows make an equal file. */
export const metadata = ({ declaration }: Pick<PublishedTable, 'declaration'>): string => {
  const comments = Object.fromEntries(declaration.columns.map(({ name, comment }) => [name, comment]))
  const entries = {
    'fieldwork_sync.table': `${declaration.schema}.${declaration.name}`,
    'fieldwork_sync.comment': declaration.comment,
    'fieldwork_sync.column_comments': JSON.stringify(comments),
  }
  return `{${Object.entries(entries)
    .map(([name, text]) => `${literal(name)}: ${literal(text)}`)
    .join(', ')}}`
}

const digest = ({ columns }: PublishedTable): string => {
  const cells = columns.map(published)
  const sum = (values: readonly string[]) => `coalesce(sum(hash(${values.join(', ')})), 0)`
  return `count(*) AS "rows", concat(${sum(cells)}, ':', ${sum(cells.toReversed())}) AS digest`
}

/**
 * The types that files have in place of those that Parquet or its readers would change. polars reads Parquet's JSON type as bytes. DuckDB
 * writes integers of 128 bits, as every sum of BIGINT, as doubles, and intervals without their microseconds.
 */
const PUBLISHED_TYPES: Readonly<Record<string, string>> = {
  JSON: 'VARCHAR',
  INTERVAL: 'VARCHAR',
  HUGEINT: 'DECIMAL(38,0)',
  UHUGEINT: 'DECIMAL(38,0)',
}

/** A nested type names its parts, some in quotes, and each with a blank before its type. */
const TYPE_OR_NAME = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\b[A-Z]+\b(?! )/g

/** SQL of a cell of `t` with its published type. */
export const published = ({ name, type }: { readonly name: string; readonly type: string }): string => {
  const publishedType = type.replaceAll(TYPE_OR_NAME, (part) => PUBLISHED_TYPES[part] ?? part)
  return publishedType === type ? `t.${quote(name)}` : `CAST(t.${quote(name)} AS ${publishedType})`
}

/** The name in the staged table, where `account` may be both a column and a partition. */
const fileColumn = ({ name }: Column): string => `file_${name}`

const partitionColumns = ({ surveyId }: PublishedTable): string =>
  surveyId === null
    ? 'CAST(NULL AS VARCHAR) AS account, CAST(NULL AS VARCHAR) AS created_month'
    : `t.account AS account, ${CREATED_MONTH} AS created_month`

const CREATED_MONTH = `coalesce(strftime(s.created_at, '%Y-%m'), ${literal(UNKNOWN_MONTH)})`

/** The partition of the survey that each account was first listed with. */
export const FIRST_LISTED = `SELECT f.account, ${CREATED_MONTH} AS created_month
  FROM (SELECT account, arg_min(id, valid_from) AS id FROM main.surveys_history GROUP BY account) f
  LEFT JOIN main.surveys s ON s.account = f.account AND s.id = f.id`

/** Joins the rows `t` with the survey that their column `surveyId` names. Only equality spares DuckDB a scan, but no null is equal. */
const ofSurvey = (table: PartitionedTable, surveys: string): string =>
  `${surveys}.account = t.account AND ${surveys}.id ${isOfSurveys(table) ? '=' : 'IS NOT DISTINCT FROM'} t.${quote(table.surveyId)}`

/** The rows of a table as `t`; in a partitioned table, joined with their survey as `s`. */
const source = (table: PublishedTable): string =>
  isPartitioned(table)
    ? `${qualified(table.declaration)} t LEFT JOIN (SELECT account, id, created_at FROM main.surveys) s
        ON ${ofSurvey(table, 's')}`
    : `${qualified(table.declaration)} t`
