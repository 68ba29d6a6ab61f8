/** Writes one table of a version: the files of changed partitions. The files of unchanged partitions are kept. */
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { makeDirectory } from '../../base/make-directory.js'
import { throwIfAborted } from '../../base/signals.js'
import { bigintCell, varcharCell } from '../../warehouse/connection/cells.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { firstLine } from '../../warehouse/connection/duckdb-error.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import { syncToDisk } from '../replace-file.js'
import { checksum, type Manifest, type PublishedFile, tableIn } from './manifest.js'
import {
  copyPartition,
  digestFiles,
  digestPartitions,
  STAGED_TABLE,
  stageChanged,
  stageSurveys,
} from './sql.js'
import { hasUnknownMonth, stagePartitions, withStagedPartitions, withStagedViews } from './stage-views.js'
import {
  emptyPartition,
  fileOf,
  isHistory,
  isPartitioned,
  nameOf,
  type Partition,
  type PublishedTable,
  type PublishedView,
} from './tables.js'
import type { ViewPartition } from './view-changes.js'

/** The version whose unchanged files are kept. */
export interface BaseVersion {
  readonly manifest: Manifest
  /** Makes an unchanged file a part of the new version. False if that is impossible; the file is then written anew. */
  readonly keep: (file: PublishedFile) => Promise<boolean>
}

export interface TableWriting {
  readonly sql: Sql
  /** Null for the first version. */
  readonly base: BaseVersion | null
  /** The directory below which files are written. */
  readonly directory: string
  /** The number of the version. */
  readonly number: number
  /** Checked before each file. */
  readonly signal: AbortSignal
}

/** A partition as it is in a database. */
interface StoredPartition extends Partition {
  readonly path: string
  readonly rows: number
  readonly digest: string
}

/** The files of a table, or of a view that is staged. */
export const writeTable = async (writing: TableWriting, table: PublishedTable) =>
  writePartitions(writing, table, await partitionsOf(writing.sql, table), (work) => work())

/** The files of a view whose tables have not changed since the base. The view is evaluated only if one of its files cannot be kept. */
export const keepView = (writing: TableWriting, view: PublishedTable) => {
  const files = [...storedFiles(writing.base, view).values()]
  const partitions = files.map((file) => ({ ...file, path: fileOf(view, file) }))
  return writePartitions(writing, view, partitions, (work) => withStagedViews(writing.sql, [view], work))
}

/** The files of a view of partitions. It is evaluated for those that changed or cannot be kept, some at a time. */
export const writeView = async (
  writing: TableWriting,
  view: PublishedView,
  partitions: readonly ViewPartition[],
) => {
  const stored = storedFiles(writing.base, view)
  const files = new Map<string, PublishedFile>()
  const evaluated: ViewPartition[] = []
  for (const partition of partitions) {
    const file = stored.get(nameOf(partition))
    if (partition.isChanged || (file !== undefined && !(await writing.base?.keep(file))))
      evaluated.push(partition)
    else if (file !== undefined) files.set(nameOf(file), file)
  }
  await evaluate(writing, view, evaluated, async (found) => {
    for (const file of await writePartitions(writing, view, found, (work) => work()))
      files.set(nameOf(file), file)
  })
  if (files.size > 0) return partitions.flatMap((partition) => files.get(nameOf(partition)) ?? [])
  return writePartitions(writing, view, [withoutRows(view)], (work) =>
    withStagedPartitions(writing.sql, view, [], work),
  )
}

/** Runs `work` with the rows of a view in these partitions, some at a time. */
const evaluate = async (
  { sql, signal }: Pick<TableWriting, 'sql' | 'signal'>,
  view: PublishedView,
  partitions: readonly ViewPartition[],
  work: (found: readonly StoredPartition[]) => Promise<void> | void,
) => {
  for (const batch of batchesOf(partitions, isHistory(view) ? STAGED_ROWS_MAX : EVALUATED_ROWS_MAX)) {
    throwIfAborted(signal)
    const names = batch.map(nameOf)
    await withStagedPartitions(sql, view, batch, async () => {
      await work((await partitionsOf(sql, view)).filter((one) => names.includes(nameOf(one))))
    })
  }
}

/** The partitions of a view that is not staged: it is evaluated for some at a time. */
export const evaluatedPartitions = async (
  writing: Pick<TableWriting, 'sql' | 'signal'>,
  view: PublishedView,
  partitions: readonly ViewPartition[],
): Promise<readonly StoredPartition[]> => {
  const evaluated: StoredPartition[] = []
  await evaluate(writing, view, partitions, (found) => {
    evaluated.push(...found)
  })
  return evaluated.length > 0 ? evaluated : [withoutRows(view)]
}

const writePartitions = async (
  writing: TableWriting,
  table: PublishedTable,
  partitions: readonly StoredPartition[],
  staged: (work: () => Promise<void>) => Promise<void>,
) => {
  const stored = storedFiles(writing.base, table)
  const files = new Map<string, PublishedFile>()
  const changed: StoredPartition[] = []
  for (const partition of partitions) {
    throwIfAborted(writing.signal)
    const file = stored.get(nameOf(partition))
    if (file !== undefined && holds(file, partition) && (await writing.base?.keep(file)))
      files.set(nameOf(file), file)
    else changed.push(partition)
  }
  const rewrite = async (): Promise<void> => {
    for (const batch of batchesOf(changed, STAGED_ROWS_MAX))
      for (const file of await write(writing, table, batch)) files.set(nameOf(file), file)
  }
  if (changed.length > 0) await staged(rewrite)
  return partitions.flatMap((partition) => files.get(nameOf(partition)) ?? [])
}

const partitionRow = z.object({
  account: varcharCell.nullable(),
  created_month: varcharCell.nullable(),
  rows: bigintCell,
  digest: varcharCell,
})

/** A table without rows has one partition without rows. */
export const partitionsOf = async (sql: Sql, table: PublishedTable): Promise<readonly StoredPartition[]> => {
  const stored = await sql.rows(partitionRow, digestPartitions(table))
  return stored.length === 0
    ? [withoutRows(table)]
    : stored.map((partition) => ({ ...partition, path: fileOf(table, partition) }))
}

const withoutRows = (table: PublishedTable): StoredPartition => ({
  ...emptyPartition(table),
  ...NO_ROWS,
  path: fileOf(table, emptyPartition(table)),
})

type Digest = Pick<StoredPartition, 'rows' | 'digest'>
const NO_ROWS: Digest = { rows: 0, digest: '0:0' }

/** The rows and digests of these written files, by path. */
export const digestsOf = async (sql: Sql, table: PublishedTable, paths: readonly string[]) => {
  const row = z.object({ filename: varcharCell, rows: bigintCell, digest: varcharCell })
  const read = paths.length === 0 ? [] : await sql.rows(row, digestFiles(table, paths))
  const byPath = new Map(read.map(({ filename, rows, digest }) => [filename, { rows, digest }]))
  return new Map(paths.map((path) => [path, byPath.get(path) ?? NO_ROWS]))
}

const storedFiles = (base: BaseVersion | null, table: PublishedTable) => {
  const stored = base === null ? undefined : tableIn(base.manifest, table)
  return new Map(stored?.layout === table.layout ? stored.files.map((file) => [nameOf(file), file]) : [])
}

export const holds = (file: Digest | undefined, { rows, digest }: Digest): boolean =>
  file?.rows === rows && file.digest === digest

/**
 * The most rows that one scan of a table stages. They fit into a pod of 1 GiB, and the first publish of 100,000 surveys scans no table more
 * than three times.
 */
const STAGED_ROWS_MAX = 100_000

/** The most for which a view of sources is evaluated at once. A row of `source_overview` takes 2 KB, and `verify` has 160 MB. */
const EVALUATED_ROWS_MAX = 25_000

/** Groups partitions that are staged together. A partition with more rows than the limit is a group of its own. */
const batchesOf = <Counted extends Pick<StoredPartition, 'rows'>>(
  changed: readonly Counted[],
  rowsMax: number,
): readonly (readonly Counted[])[] => {
  const batches: Counted[][] = []
  let rowsInLast = 0
  for (const partition of changed) {
    rowsInLast += partition.rows
    if (batches.length > 0 && rowsInLast <= rowsMax) batches.at(-1)?.push(partition)
    else {
      batches.push([partition])
      rowsInLast = partition.rows
    }
  }
  return batches
}

const write = async (
  { sql, directory, number, signal }: TableWriting,
  table: PublishedTable,
  changed: readonly StoredPartition[],
): Promise<readonly PublishedFile[]> => {
  await stagePartitions(sql, changed)
  if (isPartitioned(table)) await sql.run(stageSurveys(hasUnknownMonth(changed) ? [table] : []))
  await sql.run(stageChanged(table))
  try {
    for (const [index, { path }] of changed.entries()) {
      throwIfAborted(signal)
      await makeDirectory(dirname(join(directory, path)))
      await sql.run(copyPartition(table, index, join(directory, path)))
    }
  } finally {
    // A temporary table that cannot be dropped is replaced by the next one, or ends with the connection.
    await sql.run(`DROP TABLE temp.${STAGED_TABLE}`).catch(() => undefined)
  }
  const paths = changed.map(({ path }) => join(directory, path))
  const digests = await digestsOf(sql, table, paths).catch((cause: unknown) => {
    // This error must not count as damage of the work database: the database would be set aside.
    throw new WarehouseUnusableError(`the written files cannot be read: ${firstLine(cause)}`, { cause })
  })
  const written: PublishedFile[] = []
  for (const partition of changed) {
    const path = join(directory, partition.path)
    const file = digests.get(path)
    // Every written file was read as a reader would read it, and must hold exactly the rows of the work database.
    if (!holds(file, partition))
      throw new WarehouseUnusableError(
        `${path} differs from what was written to it (${file?.rows} of ${partition.rows} rows)`,
      )
    await syncToDisk(path)
    const { size } = await stat(path)
    written.push({ ...partition, bytes: size, sha256: await checksum(path), written_by: number })
  }
  return written
}
