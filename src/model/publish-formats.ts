/** The formats that a run can publish, and the paths that readers open. The settings take these names; `publish/formats` has an entry for each local one. */
import { join } from 'node:path'

/** What the warehouse directory can hold. A bucket can hold all formats. */
export const LOCAL_FORMATS = ['duckdb', 'parquet'] as const
export type LocalFormat = (typeof LOCAL_FORMATS)[number]

export const PUBLISH_FORMATS = [...LOCAL_FORMATS, 'delta'] as const
export type PublishFormat = (typeof PUBLISH_FORMATS)[number]

export const isLocalFormat = (format: PublishFormat): format is LocalFormat => format !== 'delta'

/** Below the warehouse directory. */
export const PUBLISHED_AS: Readonly<Record<LocalFormat, string>> = {
  duckdb: 'fieldwork.duckdb',
  parquet: 'parquet/current',
}

export const publishedPath = (directory: string, format: LocalFormat): string =>
  join(directory, PUBLISHED_AS[format])
