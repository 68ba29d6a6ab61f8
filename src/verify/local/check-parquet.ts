/**
 * Checks a published Parquet version: each file is as the manifest says, readers find no other file beside them, and the rows equal the
 * rows of the published database.
 */
import { readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { hasCode } from '../../base/errors.js'
import { throwIfAborted } from '../../base/signals.js'
import { tableName } from '../../model/sync-tables.js'
import { checksum, type Manifest, type PublishedFile, tableIn } from '../../publish/parquet/manifest.js'
import { withStagedViews } from '../../publish/parquet/stage-views.js'
import {
  isPartitioned,
  PUBLISHED_TABLES,
  type PublishedTable,
  publishedViews,
} from '../../publish/parquet/tables.js'
import { partitionsOfView } from '../../publish/parquet/view-changes.js'
import { digestsOf, evaluatedPartitions, holds, partitionsOf } from '../../publish/parquet/write-table.js'
import type { Database, Sql } from '../../warehouse/connection/database.js'
import { readLastRun } from '../../warehouse/history/runs.js'
import { type Checked, type Problem, problemOfFiles } from './proof.js'

export const filesOf = ({ tables }: Pick<Manifest, 'tables'>): readonly PublishedFile[] =>
  tables.flatMap(({ files }) => files)

export interface ParquetVersion {
  readonly directory: string
  readonly manifest: Manifest
  /** The path of the state, for people. */
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
    const damage = await damageOf(join(directory, file.path), file)
    if (damage !== null) damages.push({ path: file.path, damage })
  }
  const known = new Set(filesOf(manifest).map(({ path }) => path))
  const unknown = (await filesBelow(directory)).filter((path) => !known.has(path))
  const problems = Object.entries(DAMAGES).flatMap(([rule, says]) => {
    const paths = damages.filter(({ damage }) => damage === rule).map(({ path }) => path)
    return problemOfFiles(state, { rule, says }, paths)
  })
  return [...problems, ...problemOfFiles(state, UNKNOWN_FILES, unknown, 'Remove these files')]
}

const UNKNOWN_FILES = {
  rule: 'files_are_in_manifest',
  says: 'Parquet files that the manifest does not name; readers read them too',
}

const DAMAGES = {
  files_exist: 'files of the manifest are missing',
  files_have_their_size: 'files have another size than the manifest says',
  files_have_their_checksum: 'files have another checksum than the manifest says',
}
type Damage = keyof typeof DAMAGES

const FORMATS_DIFFER = {
  rule: 'formats_are_equal',
  says: 'partitions with other rows than the published database',
}

const damageOf = async (file: string, { bytes, sha256 }: PublishedFile): Promise<Damage | null> => {
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

/**
 * Compares the files with the published database, partition by partition, by digests of their rows. Both digests are computed now, because
 * digests in the manifest may come from another version of DuckDB. The comparison takes two scans and hardly any memory. Call it only for
 * intact files.
 */
export const compareFormats = async (
  database: Database,
  { manifest, directory, state }: ParquetVersion,
  signal: AbortSignal,
): Promise<Checked> => {
  const last = await database.exclusively(readLastRun)
  if (last.runs !== manifest.runs || last.run_id !== manifest.run_id)
    return { notes: [`${state} is of another run than the database, so both were not compared`] }
  const views = manifest.tables.filter(({ is_view: isView = false }) => isView).map(({ name }) => name)
  // A view of another version is left out, because it has other rows.
  const published = [...PUBLISHED_TABLES, ...publishedViews(views)].filter(
    (table) => table.view === null || tableIn(manifest, table)?.layout === table.layout,
  )
  const isStaged = (table: PublishedTable) => table.view !== null && !isPartitioned(table)
  const [others, staged] = [published.filter((table) => !isStaged(table)), published.filter(isStaged)]
  return await database.exclusively((sql) =>
    database.interruptibly(signal, async () => {
      const compare = (tables: readonly PublishedTable[]) =>
        compareEach(sql, tables, { manifest, directory, state }, signal)
      const one = await compare(others)
      const other = await withStagedViews(sql, staged, () => compare(staged))
      return { checks: one.checks + other.checks, problems: [...one.problems, ...other.problems] }
    }),
  )
}

const compareEach = async (
  sql: Sql,
  published: readonly PublishedTable[],
  { manifest, directory, state }: ParquetVersion,
  signal: AbortSignal,
) => {
  let checks = 0
  const problems: Problem[] = []
  const versions = { tables: manifest.tables, base: null }
  for (const table of published) {
    throwIfAborted(signal)
    const known = (tableIn(manifest, table)?.files ?? []).map(({ path }) => join(directory, path))
    const written = await digestsOf(sql, table, known)
    const { view } = table
    const partitions =
      view !== null && isPartitioned(table)
        ? await evaluatedPartitions(
            { sql, signal },
            { ...table, view },
            partitionsOfView(table, versions, []),
          )
        : await partitionsOf(sql, table)
    const stored = new Map(partitions.map((partition) => [join(directory, partition.path), partition]))
    const differing = [...new Set([...stored.keys(), ...written.keys()])]
      .filter((file) => {
        const [one, other] = [stored.get(file), written.get(file)]
        return one === undefined || !holds(other, one)
      })
      .toSorted()
    checks += written.size
    const rule = { ...FORMATS_DIFFER, where: tableName(table.declaration) }
    const paths = differing.map((file) => relative(directory, file))
    problems.push(...problemOfFiles(state, rule, paths))
  }
  return { checks, problems }
}
