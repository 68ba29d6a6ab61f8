/**
 * Checks a published Parquet version: each file is as the manifest says, readers find no file beside them, and the rows are those of the
 * published database.
 */
import { readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { z } from 'zod'
import { throwIfAborted } from '../../base/clock.js'
import { hasCode } from '../../base/errors.js'
import { tableName } from '../../model/sync-tables.js'
import { checksum, type Manifest, type PublishedFile } from '../../publish/parquet/manifest.js'
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
import { type Checked, type Problem, PUBLISH_AGAIN, problemOfFiles } from './proof.js'

export const filesOf = ({ tables }: Pick<Manifest, 'tables'>): readonly PublishedFile[] =>
  tables.flatMap(({ files }) => files)

export interface ParquetVersion {
  readonly directory: string
  readonly manifest: Manifest
  /** Its path, for people. */
  readonly state: string
}

/** Throws the system's error if a file cannot be read. */
export const checkParquetFiles = async (
  { directory, manifest, state }: ParquetVersion,
  signal: AbortSignal,
): Promise<readonly Problem[]> => {
  const damages: { readonly path: string; readonly damage: Damage }[] = []
  for (const file of filesOf(manifest)) {
    throwIfAborted(signal)
    const damage = await damageOf(directory, file)
    if (damage !== null) damages.push({ path: file.path, damage })
  }
  const known = new Set(filesOf(manifest).map(({ path }) => path))
  const unknown = (await filesBelow(directory)).filter((path) => !known.has(path))
  return [
    ...DAMAGES.flatMap(({ rule, says }) =>
      problemOfFiles(
        state,
        { rule, says },
        damages.filter(({ damage }) => damage === rule).map(({ path }) => path),
      ),
    ),
    ...problemOfFiles(
      state,
      {
        rule: 'files_are_in_manifest',
        says: 'Parquet files that the manifest does not name; readers read them too',
      },
      unknown,
      'Remove these files',
    ),
  ]
}

type Damage = 'files_exist' | 'files_have_their_size' | 'files_have_their_checksum'
const DAMAGES: readonly { readonly rule: Damage; readonly says: string }[] = [
  { rule: 'files_exist', says: 'files of the manifest are missing' },
  { rule: 'files_have_their_size', says: 'files have another size than the manifest says' },
  { rule: 'files_have_their_checksum', says: 'files have another checksum than the manifest says' },
]

const damageOf = async (
  directory: string,
  { path, bytes, sha256 }: PublishedFile,
): Promise<Damage | null> => {
  const file = join(directory, path)
  try {
    if ((await stat(file)).size !== bytes) return 'files_have_their_size'
    return (await checksum(file)) === sha256 ? null : 'files_have_their_checksum'
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return 'files_exist'
    throw error
  }
}

/** The Parquet files below a directory, relative to it. Readers use patterns such as `surveys/**\/*.parquet`. */
const filesBelow = async (directory: string): Promise<readonly string[]> =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.parquet'))
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .toSorted()

interface ComparedFormats extends Checked {
  /** Why they were not compared, so that `checks` is 0; null if they were. */
  readonly note: string | null
}

interface BothFormats {
  readonly database: Database
  readonly parquet: ParquetVersion
  readonly signal: AbortSignal
}

/**
 * Compares the files with the published database, partition by partition, by digests of their rows. Both digests are computed now: those
 * of the manifest may come from another version of DuckDB. It takes two scans and hardly any memory. The files are intact.
 */
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
