/**
 * Decides in which file a row is published. A data table is partitioned by account and by the month in which the survey was created (UTC),
 * so a survey has the same partition in every table. A view with a row for each source or time is partitioned in the same way. A table of
 * `_sync` and any other view is one file: it has few rows, and most of them change every night. Pure.
 */
import { createHash } from 'node:crypto'
import type { Column, TableDeclaration } from '../../model/columns.js'
import { ALL_TABLES } from '../../model/sync-tables.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import type { ViewDeclaration } from '../../warehouse/views/view-declaration.js'

export interface PublishedTable {
  readonly declaration: TableDeclaration
  /** Null for a table. */
  readonly view: ViewDeclaration | null
  /** The path, relative to the directory of a version. */
  readonly directory: string
  /** The column with the survey id, which decides the partition; null: the table is one file. */
  readonly surveyId: string | null
  /** The columns of the files, in order. Partitions have `account` only in the path: pandas refuses a column that is in both. */
  readonly columns: readonly Column[]
  /** A digest that differs when every file of the table has to be written anew. */
  readonly layout: string
}

export interface PublishedView extends PublishedTable {
  readonly view: ViewDeclaration
}

/** A table that is not one file. */
export interface PartitionedTable extends PublishedTable {
  readonly surveyId: string
}

export const isPartitioned = (table: PublishedTable): table is PartitionedTable => table.surveyId !== null

/** Whether each row of the table is of a survey. A row of a plan may be of a project, so of surveys in any partition. */
export const isOfSurveys = (table: PublishedTable): table is PartitionedTable =>
  table.columns.some(({ name, nullable }) => name === table.surveyId && !nullable)

/** The partition of a file; both are null for a table that is one file. */
export interface Partition {
  readonly account: string | null
  readonly created_month: string | null
}

/** The month of a row whose survey is not in `surveys`. Hive's null is not used, because pandas cannot read it. */
export const UNKNOWN_MONTH = 'unknown'

/** Columns in the key of a history. */
const TIMES = ['day', 'observed_at', 'valid_from']

/** Whether the table has a row for each time. */
export const isHistory = ({ declaration: { key } }: Pick<PublishedTable, 'declaration'>): boolean =>
  key.some((name) => TIMES.includes(name))

/** Increased by hand when a change of the code in this directory writes the same rows as different files. */
const FORMAT_REVISION = 1

const publishedTable = (
  declaration: TableDeclaration,
  view: ViewDeclaration | null = null,
): PublishedTable => {
  const { schema, name, comment, key } = declaration
  const hasPartitions =
    schema === 'main' && (view === null || isHistory({ declaration }) || key.includes('sample_source_id'))
  return {
    declaration,
    view,
    directory: schema === 'main' ? name : `${schema}/${name}`,
    surveyId: hasPartitions ? surveyIdOf(declaration) : null,
    columns: declaration.columns.filter((column) => !hasPartitions || column.name !== 'account'),
    layout: createHash('sha256')
      .update(
        JSON.stringify([
          FORMAT_REVISION,
          comment,
          key,
          declaration.columns,
          ...(view === null ? [] : [view.sql, hasPartitions]),
        ]),
      )
      .digest('hex'),
  }
}

const surveyIdOf = ({ columns }: TableDeclaration): string =>
  columns.some(({ name }) => name === 'survey_id') ? 'survey_id' : 'id'

export const PUBLISHED_TABLES: readonly PublishedTable[] = ALL_TABLES.map((table) => publishedTable(table))

/** The views of these names, in the order of creation. */
export const publishedViews = (names: readonly string[]): readonly PublishedView[] =>
  ALL_VIEWS.filter(({ name }) => names.includes(name)).map((view) => ({
    ...publishedTable(view, view),
    view,
  }))

/** The only partition of a table without rows, so that readers find a file with its columns. */
export const emptyPartition = ({ surveyId }: PublishedTable): Partition =>
  surveyId === null
    ? { account: null, created_month: null }
    : { account: 'none', created_month: UNKNOWN_MONTH }

/** Identifies a partition of a table. A path would not, because in a bucket each version of a file has a key of its own. */
export const nameOf = ({ account, created_month }: Partition): string =>
  JSON.stringify([account, created_month])

/** The path of a partition's file, relative to the directory of a version. */
export const fileOf = ({ directory }: PublishedTable, { account, created_month }: Partition): string =>
  account === null || created_month === null
    ? `${directory}/${FILE}`
    : `${directory}/account=${inPath(account)}/created_month=${inPath(created_month)}/${FILE}`

const FILE = 'data.parquet'

/** Escapes like DuckDB, and also a name that readers would read as a null. */
const inPath = (value: string): string =>
  /^(null|__hive_default_partition__)$/i.test(value)
    ? `${percentEncoded(value.charAt(0))}${value.slice(1)}`
    : encodeURIComponent(value).replaceAll(/[!'()*]/g, percentEncoded)

const percentEncoded = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
