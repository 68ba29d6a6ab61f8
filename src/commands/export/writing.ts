/** What the writers of all formats share: the task, the entry of a table in `export.json`, and the errors. */

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { WarehouseError } from '../../base/errors.js'
import { tableName } from '../../model/sync-tables.js'
import { checksum } from '../../publish/parquet/manifest.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { firstLine, isFileFailure } from '../../warehouse/connection/duckdb-error.js'
import { conditionError } from './condition.js'
import type { Relation } from './relations.js'
import type { ExportManifest } from './target.js'

export interface Writing {
  readonly sql: Sql
  readonly relations: readonly Relation[]
  /** The unfinished directory that gets the files. */
  readonly directory: string
  /** Its final place, for messages. */
  readonly out: string
  readonly signal: AbortSignal
}

export type ExportEntry = ExportManifest['tables'][number]

/** Name, size and checksum of a written file. */
export const fileEntry = async (
  directory: string,
  file: string,
): Promise<Pick<ExportEntry, 'file' | 'bytes' | 'sha256'>> => {
  const path = join(directory, file)
  return { file, bytes: (await stat(path)).size, sha256: await checksum(path) }
}

/** The error to throw if a table cannot be written: the condition's, an error `export_failed`, or a stop or bug itself. */
export const writeError = (error: unknown, { table, condition }: Relation, out: string): unknown => {
  const fault = conditionError(error, condition)
  if (fault !== error || !isFileFailure(error)) return fault
  return new WarehouseError(
    'export_failed',
    `cannot export ${tableName(table)} to ${out}: ${firstLine(error)}`,
    {
      cause: error,
    },
  )
}
