/**
 * Which file a row is published in. A data table is cut into partitions by account and by the month in which the survey
 * was created (UTC), the same in every table of a survey; a table of the bookkeeping is one file. Pure.
 */
import { createHash } from 'node:crypto'
import type { Column, TableDeclaration } from '../../model/columns.js'
import { ALL_TABLES } from '../../model/sync-tables.js'

export interface PublishedTable {
  readonly declaration: TableDeclaration
  /** Below the directory of a version. */
  readonly directory: string
  /** The column that holds the id of the survey, by which the table is cut; null = one file. */
  readonly surveyId: string | null
  /** Columns of the files, in their order. `account` of a table that is cut is in the path alone: pandas refuses it in both. */
  readonly columns: readonly Column[]
  /** Differs where every file of the table has to be written anew. */
  readonly layout: string
}

/** What is in one file; both null for a table that is one file. */
export interface Partition {
  readonly account: string | null
  readonly created_month: string | null
}

/** The month of a row whose survey is not in `surveys`. Not Hive's null: pandas cannot read that. */
export const UNKNOWN_MONTH = 'unknown'

/** Moved by hand where the code of this directory begins to write the same rows differently. */
const FORMAT_REVISION = 1

const publishedTable = (declaration: TableDeclaration): PublishedTable => {
  const { schema, name, comment, key } = declaration
  const isCut = schema === 'main'
  return {
    declaration,
    directory: isCut ? name : `${schema}/${name}`,
    surveyId: isCut ? surveyIdOf(declaration) : null,
    columns: declaration.columns.filter((column) => !isCut || column.name !== 'account'),
    layout: createHash('sha256')
      .update(JSON.stringify([FORMAT_REVISION, comment, key, declaration.columns]))
      .digest('hex'),
  }
}

const surveyIdOf = ({ columns }: TableDeclaration): string =>
  columns.some(({ name }) => name === 'survey_id') ? 'survey_id' : 'id'

export const PUBLISHED_TABLES: readonly PublishedTable[] = ALL_TABLES.map(publishedTable)

/** The one partition of a table without rows: readers find its columns, instead of no file at all. */
export const emptyPartition = ({ surveyId }: PublishedTable): Partition =>
  surveyId === null
    ? { account: null, created_month: null }
    : { account: 'none', created_month: UNKNOWN_MONTH }

/** Path of a partition's file below the directory of a version. */
export const fileOf = ({ directory }: PublishedTable, { account, created_month }: Partition): string =>
  account === null || created_month === null
    ? `${directory}/${FILE}`
    : `${directory}/account=${inPath(account)}/created_month=${inPath(created_month)}/${FILE}`

const FILE = 'data.parquet'

/** Escaped as DuckDB does it. A name that readers would take for a null hides behind an escape too. */
const inPath = (value: string): string =>
  /^(null|__hive_default_partition__)$/i.test(value)
    ? `${percentEncoded(value.charAt(0))}${value.slice(1)}`
    : encodeURIComponent(value).replaceAll(/[!'()*]/g, percentEncoded)

const percentEncoded = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
