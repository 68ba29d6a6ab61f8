/** Writes the changed files of a version below a directory, and makes its manifest. The caller says which unchanged files stay. */
import { dirname, join } from 'node:path'
import { sum } from 'd3-array'
import type { Clock } from '../../base/clock.js'
import { throwIfAborted } from '../../base/signals.js'
import { packageVersion } from '../../base/version.js'
import type { ViewName } from '../../model/publish-formats.js'
import { SCHEMA_VERSION } from '../../model/sync-tables.js'
import { columnPaths, type Database, type Sql } from '../../warehouse/connection/database.js'
import { WarehouseDamagedError } from '../../warehouse/connection/errors.js'
import { readLastRun } from '../../warehouse/history/runs.js'
import { type Manifest, type ManifestTable, type PublishedFile, tableIn } from './manifest.js'
import { tablesOf, withStagedViews } from './stage-views.js'
import { PUBLISHED_TABLES, type PublishedTable, publishedViews } from './tables.js'
import { keepView, type TableWriting, writeTable } from './write-table.js'

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
  const written = async (table: PublishedTable, write: typeof writeTable) =>
    manifestTable(table, await write(writing, table), required)
  const tables: ManifestTable[] = []
  for (const table of PUBLISHED_TABLES) tables.push(await written(table, writeTable))
  const views = publishedViews(writing.views)
  const changed = views.filter((view) => hasChanged(view, tables, writing.base))
  await withStagedViews(writing.sql, changed, async () => {
    for (const view of views) tables.push(await written(view, changed.includes(view) ? writeTable : keepView))
  })
  return tables
}

/**
 * Whether a table that the view reads has other rows than in the base, or the base lacks the view in its present form. A base of a bucket
 * does not list files that the bucket has lost.
 */
const hasChanged = (
  view: PublishedTable,
  tables: readonly ManifestTable[],
  base: TableWriting['base'],
): boolean => {
  const known = base === null ? undefined : tableIn(base.manifest, view)
  if (base === null || known?.layout !== view.layout) return true
  if (sum(known.files.map(({ bytes }) => bytes)) !== known.bytes) return true
  return tablesOf(view).some((table) => {
    const [now, before] = [tableIn({ tables }, table), tableIn(base.manifest, table)]
    return now?.layout !== before?.layout || digestsOfFiles(now) !== digestsOfFiles(before)
  })
}

const digestsOfFiles = (table: ManifestTable | undefined): string =>
  JSON.stringify(
    table?.files.map(({ account, created_month, rows, digest }) => [account, created_month, rows, digest]),
  )

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
