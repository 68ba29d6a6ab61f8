/** The formats that a run can publish, and the paths that readers open. The settings take these names; `publish/formats` has an entry for each. */
import { join } from 'node:path'

export const PUBLISH_FORMATS = ['duckdb', 'parquet'] as const
export type PublishFormat = (typeof PUBLISH_FORMATS)[number]

/** Below the warehouse directory. */
export const PUBLISHED_AS: Readonly<Record<PublishFormat, string>> = {
  duckdb: 'fieldwork.duckdb',
  parquet: 'parquet/current',
}

export const publishedPath = (directory: string, format: PublishFormat): string =>
  join(directory, PUBLISHED_AS[format])
