/** Writes the changed files of a version below a directory, and makes its manifest. The caller says which unchanged files stay. */
import { dirname, join } from 'node:path'
import { sum } from 'd3-array'
import { z } from 'zod'
import type { Clock } from '../../base/clock.js'
import { throwIfAborted } from '../../base/signals.js'
import { packageVersion } from '../../base/version.js'
import type { ViewName } from '../../model/publish-formats.js'
import { SCHEMA_VERSION } from '../../model/sync-tables.js'
import { varcharCell } from '../../warehouse/connection/cells.js'
import { columnPaths, type Database, type Sql } from '../../warehouse/connection/database.js'
import { WarehouseDamagedError } from '../../warehouse/connection/errors.js'
import { readLastRun } from '../../warehouse/history/runs.js'
import { type Manifest, type ManifestTable, type PublishedFile, tableIn } from './manifest.js'
import { FIRST_LISTED } from './sql.js'
import { withStagedViews } from './stage-views.js'
import { isPartitioned, PUBLISHED_TABLES, type PublishedTable, publishedViews } from './tables.js'
import { hasChanged, partitionsOfView } from './view-changes.js'
import { keepView, type TableWriting, writeTable, writeView } from './write-table.js'

interface VersionWriting extends Omit<TableWriting, 'sql'> {
  readonly database: Database
  readonly clock: Clock
  /** The views that are published like tables. */
  readonly views: readonly ViewName[]
}

/** Rejects with the signal's reason when it aborts, unless the work database is damaged. */
export const writeVersion = async (writing: VersionWriting): Promise<Manifest> => {
  const { database, clock, number, signal } = writing
  try {
    // Without a transaction, because DuckDB keeps the space of every staged table until a transaction ends. We hold the only connection.
    return await database.exclusively((sql) =>
      database.interruptibly(signal, async () =>
        manifestOf(sql, await writeTables({ ...writing, sql }), number, clock),
      ),
    )
  } catch (error) {
    // After a signal, errors of interrupted statements do not count. Damage counts, because the file must be set aside.
    if (!(error instanceof WarehouseDamagedError)) throwIfAborted(signal)
    throw error
  }
}

const writeTables = async (
  writing: TableWriting & Pick<VersionWriting, 'views'>,
): Promise<readonly ManifestTable[]> => {
  // A column that was added to a table with rows is nullable, despite its declaration. So is every column of a view.
  const required = await columnPaths(writing.sql, 'NOT is_nullable')
  const tables: ManifestTable[] = []
  const write = async (table: PublishedTable, files: Promise<readonly PublishedFile[]>) =>
    tables.push(manifestTable(table, await files, required))
  for (const table of PUBLISHED_TABLES) await write(table, writeTable(writing, table))
  const versions = { tables: [...tables], base: writing.base?.manifest ?? null }
  const views = publishedViews(writing.views)
  const firstListed = await writing.sql.rows(partitionSchema, FIRST_LISTED)
  for (const view of views.filter(isPartitioned))
    await write(view, writeView(writing, view, partitionsOfView(view, versions, firstListed)))
  const others = views.filter((view) => !isPartitioned(view))
  const changed = others.filter((view) => hasChanged(view, versions))
  await withStagedViews(writing.sql, changed, async () => {
    for (const view of others)
      await write(view, changed.includes(view) ? writeTable(writing, view) : keepView(writing, view))
  })
  return [...PUBLISHED_TABLES, ...views].flatMap((table) => tableIn({ tables }, table) ?? [])
}

const partitionSchema = z.object({ account: varcharCell, created_month: varcharCell })

const manifestTable = (
  { declaration: { schema, name, comment, columns }, layout, view }: PublishedTable,
  files: readonly PublishedFile[],
  required: ReadonlySet<string>,
): ManifestTable => ({
  schema,
  name,
  comment,
  columns: columns.map((column) => ({
    ...column,
    nullable: !required.has(`${schema}.${name}.${column.name}`),
  })),
  ...(view === null ? {} : { is_view: true }),
  layout,
  rows: sum(files.map(({ rows }) => rows)),
  bytes: sum(files.map(({ bytes }) => bytes)),
  files: [...files],
})

/** The manifest of version `number` with `tables`, and the runs of this database. */
export const manifestOf = async (
  sql: Sql,
  tables: readonly ManifestTable[],
  version: number,
  clock: Clock,
): Promise<Manifest> => {
  const { runs, run_id } = await readLastRun(sql)
  return {
    format: 1,
    version,
    published_at: new Date(clock.nowMs()).toISOString(),
    program: packageVersion(),
    schema_version: SCHEMA_VERSION,
    run_id,
    runs,
    rows: sum(tables.map(({ rows }) => rows)),
    bytes: sum(tables.map(({ bytes }) => bytes)),
    tables: [...tables],
  }
}

interface ChangedFilesWriting extends Omit<VersionWriting, 'base'> {
  /** The manifest of the previous version, with keys as paths; null for the first version. Its number is below the new number. */
  readonly base: Manifest | null
  /** The run that writes the files. Keys contain its id, so no two runs ever write the same key. */
  readonly runId: string
}

/**
 * Writes the files of a version for a bucket. Only the files of changed partitions are written, below a local directory. An unchanged
 * file keeps the key that the base manifest names, so no local copy of it is needed. In the manifest, the path of every file is its key.
 */
export const writeChangedFiles = async (options: ChangedFilesWriting) => {
  const { base, runId, ...writing } = options
  const kept = base === null ? null : { manifest: base, keep: async () => true }
  const manifest = await writeVersion({ ...writing, base: kept })
  /** The written files, each with its key and its absolute path. */
  const upload: (Pick<PublishedFile, 'bytes' | 'sha256'> & { key: string; file: string })[] = []
  const withKey = (file: PublishedFile): PublishedFile => {
    const { path, bytes, sha256, written_by } = file
    if (written_by !== manifest.version) return file
    const key = dataKey(dirname(path), written_by, runId, sha256)
    upload.push({ key, file: join(writing.directory, path), bytes, sha256 })
    return { ...file, path: key }
  }
  const tables = manifest.tables.map((table) => ({ ...table, files: table.files.map(withKey) }))
  return { manifest: { ...manifest, tables }, upload }
}

/** `directory` is the table's directory with its partition, such as `surveys/account=a/created_month=2026-01`. */
export const dataKey = (directory: string, version: number, run: string, sha256: string): string =>
  `data/${directory}/v${version}-${run}-${sha256.slice(0, CHECKSUM_DIGITS)}.parquet`

const CHECKSUM_DIGITS = 16
