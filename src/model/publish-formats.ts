/** The formats that a run can publish, and the paths that readers open. The settings take these names; `publish/formats` has an entry for each state. */
import { join } from 'node:path'

/** Whole states of the warehouse: commands that read open one, and a lost work database is rebuilt from one. */
export const STATE_FORMATS = ['duckdb', 'parquet'] as const
export type StateFormat = (typeof STATE_FORMATS)[number]

/** Delta tables are only in a bucket. The report is a page about a state. */
export const PUBLISH_FORMATS = [...STATE_FORMATS, 'delta', 'report'] as const
export type PublishFormat = (typeof PUBLISH_FORMATS)[number]

export const isStateFormat = (format: PublishFormat): format is StateFormat =>
  STATE_FORMATS.some((state) => state === format)

/** Below the warehouse directory. */
export const PUBLISHED_AS: Readonly<Record<StateFormat, string>> = {
  duckdb: 'fieldwork.duckdb',
  parquet: 'parquet/current',
}

export const publishedPath = (directory: string, format: StateFormat): string =>
  join(directory, PUBLISHED_AS[format])

/** Below the warehouse directory, and in a bucket. */
export const REPORT_FILE = 'report.html'
