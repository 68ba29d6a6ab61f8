/**
 * Every format of a published state, declared once: how it publishes, and how its published state is found, opened and restored. A new
 * format is a name in `model/publish-formats` and an entry here. The report is not a state, and is written after the states.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../base/errors.js'
import {
  isStateFormat,
  type PublishFormat,
  publishedPath,
  REPORT_FILE,
  STATE_FORMATS,
  type StateFormat,
} from '../model/publish-formats.js'
import type { Publisher } from '../model/warehouse.js'
import type { Database, OpenOptions } from '../warehouse/connection/database.js'
import { unreadable } from '../warehouse/connection/duckdb-error.js'
import { readLastRun } from '../warehouse/history/runs.js'
import type { PublishedPlace, PublishedState } from '../warehouse/lifecycle/rebuild.js'
import { isNewer } from '../warehouse/lifecycle/version.js'
import { createDuckdbPublisher, findPublishedFile, openPublishedFile } from './duckdb.js'
import { createLacks } from './file-system-lacks.js'
import { manifestFile } from './parquet/manifest.js'
import { createParquetPublisher, type FilePublishing } from './parquet/publisher.js'
import { findPublishedParquet, openParquet } from './parquet/reader.js'
import { replaceContent, sweepTemporaries } from './replace-file.js'
import type { ReportSettings } from './report/formats.js'
import { createReportPublisher } from './report/publisher.js'

interface PublishingFiles extends FilePublishing {
  readonly report: ReportSettings
}

export type Publishing = Omit<PublishingFiles, 'lacks'>

interface Format {
  readonly createPublisher: (publishing: PublishingFiles) => Publisher
  /** The file that every publish writes, so that its time is the time of the publish. */
  readonly dated: (path: string) => string
  /** Opens the published state at `path` read-only. */
  readonly open: (path: string, options?: OpenOptions) => Promise<Database>
  /** Whether an open database still opens files below `path`. */
  readonly isDirectory: boolean
  /** The states in a warehouse directory from which the empty `database` can be filled. */
  readonly find: (directory: string, database: Database) => Promise<readonly PublishedState[]>
}

const FORMATS: Readonly<Record<StateFormat, Format>> = {
  duckdb: {
    createPublisher: ({ database, directory, lacks }) => createDuckdbPublisher(database, directory, lacks),
    dated: (path) => path,
    open: openPublishedFile,
    isDirectory: false,
    find: findPublishedFile,
  },
  parquet: {
    createPublisher: createParquetPublisher,
    dated: manifestFile,
    open: openParquet,
    isDirectory: true,
    find: findPublishedParquet,
  },
}

export const publishersOf = (formats: readonly PublishFormat[], publishing: Publishing) => {
  const files = { ...publishing, lacks: createLacks(publishing.log) }
  return [
    ...formats.filter(isStateFormat).map((format) => FORMATS[format].createPublisher(files)),
    ...(formats.includes('report') ? [reportIn(files)] : []),
  ]
}

const reportIn = ({ database, directory, report, lacks }: PublishingFiles): Publisher => {
  const path = join(directory, REPORT_FILE)
  const write = async (html: string): Promise<void> => {
    await sweepTemporaries(path)
    await replaceContent(path, html, lacks)
    lacks.logNew(directory)
  }
  return createReportPublisher({ database, report, path, write })
}

/** All places of published states, for `openWarehouse`. */
export const publishedPlaces = (directory: string): readonly PublishedPlace[] =>
  STATE_FORMATS.map((format) => ({
    path: publishedPath(directory, format),
    find: (database) => FORMATS[format].find(directory, database),
  }))

/** A published state and its time. */
export interface Published extends Pick<Format, 'open' | 'isDirectory'> {
  /** For people: its path, or its address in a bucket. */
  readonly path: string
  /** The local path that `open` opens. */
  readonly file: string
  readonly atMs: number
}

/**
 * The published state with the most recorded runs: a run may leave a format out, and a backup may lie in the place of one. Of equal ones, the
 * first of the `preferred` formats, or of any other; null if nothing is published. Throws a `WarehouseError`.
 */
export const findPublished = async (
  directory: string,
  preferred: readonly PublishFormat[],
): Promise<Published | null> => {
  const found: Published[] = []
  for (const format of new Set([...preferred.filter(isStateFormat), ...STATE_FORMATS])) {
    const { dated, open, isDirectory } = FORMATS[format]
    const path = publishedPath(directory, format)
    const stats = await stat(dated(path)).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null
      throw unreadable(path, error)
    })
    if (stats !== null) found.push({ path, file: path, open, isDirectory, atMs: stats.mtimeMs })
  }
  const [first = null, ...others] = found
  if (first === null || others.length === 0) return first
  // The command reports why the first one cannot be read, or that another is of a newer version. It does not need a damaged other.
  let newest = { state: first, runs: await countRuns(first).catch(() => Number.POSITIVE_INFINITY) }
  for (const state of others) {
    const runs = await countRuns(state).catch((error: unknown) =>
      isNewer(error) ? Number.POSITIVE_INFINITY : 0,
    )
    if (runs > newest.runs) newest = { state, runs }
  }
  return newest.state
}

const countRuns = async ({ file, open }: Published): Promise<number> => {
  await using database = await open(file)
  return (await database.exclusively(readLastRun)).runs
}
