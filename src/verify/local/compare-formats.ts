/**
 * Compares the published database with the published Parquet files, partition by partition, by digests of their rows. Both digests are
 * computed now: those of the manifest may come from another version of DuckDB. It takes two scans and hardly any memory.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { throwIfAborted } from '../../base/clock.js'
import { tableName } from '../../model/sync-tables.js'
import type { Manifest } from '../../publish/parquet/manifest.js'
import { digestFiles, digestPartitions } from '../../publish/parquet/sql.js'
import {
  emptyPartition,
  fileOf,
  PUBLISHED_TABLES,
  type PublishedTable,
} from '../../publish/parquet/tables.js'
import { bigintCell, varcharCell } from '../../warehouse/connection/cells.js'
import type { Database, Sql } from '../../warehouse/connection/database.js'
import { readLastRun } from '../../warehouse/history/run-order.js'
import { PUBLISH_AGAIN } from './check-tables.js'
import type { Problem } from './problem.js'

export interface ComparedFormats {
  /** Partitions that were compared; 0 if the formats are of different runs. */
  readonly checks: number
  readonly problems: readonly Problem[]
  /** Why they were not compared; null if they were. */
  readonly note: string | null
}

interface BothFormats {
  readonly database: Database
  readonly parquet: { readonly directory: string; readonly manifest: Manifest; readonly state: string }
  readonly signal: AbortSignal
}

/** The Parquet files are intact. */
export const compareFormats = async ({
  database,
  parquet,
  signal,
}: BothFormats): Promise<ComparedFormats> => {
  const runs = await database.exclusively(readLastRun)
  const { manifest, directory, state } = parquet
  if (runs.runs !== manifest.runs || runs.run_id !== manifest.run_id)
    return {
      checks: 0,
      problems: [],
      note: `${state} is of another run than the database, so both were not compared`,
    }
  let checks = 0
  const problems: Problem[] = []
  for (const table of PUBLISHED_TABLES) {
    throwIfAborted(signal)
    const files = manifest.tables.find(
      ({ schema, name }) => schema === table.declaration.schema && name === table.declaration.name,
    )?.files
    const paths = (files ?? []).map(({ path }) => join(directory, path))
    const [stored, written] = await database.exclusively((sql) =>
      database.interruptibly(signal, async () => [
        await storedDigests(sql, table, directory),
        await writtenDigests(sql, table, paths),
      ]),
    )
    const differing = [...new Set([...stored.keys(), ...written.keys()])]
      .filter((file) => stored.get(file) !== written.get(file))
      .toSorted()
    checks += written.size
    const [first] = differing
    if (first !== undefined)
      problems.push({
        rule: 'formats_are_equal',
        state,
        where: tableName(table.declaration),
        says: 'partitions with other rows than the published database',
        count: differing.length,
        example: first.slice(directory.length + 1),
        advice: PUBLISH_AGAIN,
      })
  }
  return { checks, problems, note: null }
}

type Digests = ReadonlyMap<string, string>

const storedRow = z.object({
  account: varcharCell.nullable(),
  created_month: varcharCell.nullable(),
  rows: bigintCell,
  digest: varcharCell,
})

/** By path. A table without rows has one file without rows. */
const storedDigests = async (sql: Sql, table: PublishedTable, directory: string): Promise<Digests> => {
  const rows = await sql.rows(storedRow, digestPartitions(table))
  const found = rows.map((row) => [join(directory, fileOf(table, row)), `${row.rows} ${row.digest}`] as const)
  return found.length > 0
    ? new Map(found)
    : new Map([[join(directory, fileOf(table, emptyPartition(table))), NO_ROWS]])
}

const NO_ROWS = '0 0:0'

const writtenDigests = async (
  sql: Sql,
  table: PublishedTable,
  paths: readonly string[],
): Promise<Digests> => {
  if (paths.length === 0) return new Map()
  const rows = await sql.rows(
    z.object({ filename: varcharCell, rows: bigintCell, digest: varcharCell }),
    digestFiles(table, paths),
  )
  const digests = new Map(rows.map((row) => [row.filename, `${row.rows} ${row.digest}`]))
  return new Map(paths.map((path) => [path, digests.get(path) ?? NO_ROWS]))
}
