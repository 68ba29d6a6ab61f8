/**
 * Describes a published table as Delta does: its schema as JSON text, and its partition columns. Pure. Delta's field `nullable: false`
 * may stand over a Parquet column that is optional, as ours all are.
 */
import type { Column } from '../../model/columns.js'
import type { ManifestTable } from '../parquet/manifest.js'

/** Readers prune files by these columns. Their values are only in the log and in the paths, not in the files. */
const PARTITION_COLUMNS = ['account', 'created_month'] as const

export const partitionColumns = ({ schema }: Pick<ManifestTable, 'schema'>): readonly string[] =>
  schema === 'main' ? PARTITION_COLUMNS : []

const TYPES = {
  BIGINT: 'long',
  VARCHAR: 'string',
  DOUBLE: 'double',
  BOOLEAN: 'boolean',
  TIMESTAMPTZ: 'timestamp',
  DATE: 'date',
  // Published as text.
  JSON: 'string',
} as const satisfies Readonly<Record<Column['type'], string>>

export const schemaString = (table: Pick<ManifestTable, 'schema' | 'columns'>): string => {
  const declared = new Set(table.columns.map(({ name }) => name))
  const fields = [
    ...table.columns.map(({ name, type, nullable, comment }) => field(name, TYPES[type], nullable, comment)),
    ...partitionColumns(table)
      .filter((name) => !declared.has(name))
      .map((name) => field(name, 'string', false, MONTH_COMMENT)),
  ]
  return JSON.stringify({ type: 'struct', fields })
}

const field = (name: string, type: string, nullable: boolean, comment: string) => ({
  name,
  type,
  nullable,
  metadata: { comment },
})

const MONTH_COMMENT = 'Month in which the survey was created (UTC), or `unknown`'
