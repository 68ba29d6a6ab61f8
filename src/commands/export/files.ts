/** Writes each table as a Parquet or CSV file of its own. DuckDB writes the rows, so they are never in our memory. */
import { join } from 'node:path'
import { z } from 'zod'
import { throwIfAborted } from '../../base/clock.js'
import { tableName } from '../../model/sync-tables.js'
import { bigintCell } from '../../warehouse/connection/cells.js'
import { copyTable, type FileFormat } from './sql.js'
import { type ExportEntry, fileEntry, type Writing, writeError } from './writing.js'

export const writeFiles = async (
  { sql, relations, directory, out, signal }: Writing,
  format: FileFormat,
  bom: boolean,
): Promise<readonly ExportEntry[]> => {
  const entries: ExportEntry[] = []
  for (const relation of relations) {
    throwIfAborted(signal)
    const file = `${tableName(relation.table)}.${format}`
    const copy = copyTable({ ...relation, format, bom, file: join(directory, file) })
    const [copied] = await sql.rows(z.object({ Count: bigintCell }), copy).catch((error: unknown) => {
      throw writeError(error, relation, out)
    })
    entries.push({
      table: tableName(relation.table),
      ...(await fileEntry(directory, file)),
      rows: copied?.Count ?? 0,
      filtered: relation.condition !== null,
      cut_texts: 0,
    })
  }
  return entries
}
