/**
 * The files of a warehouse directory. `work.duckdb` is private to the job; readers open `fieldwork.duckdb`, or the files
 * under `parquet/current`.
 */
import { join } from 'node:path'

export const workFile = (directory: string): string => join(directory, 'work.duckdb')
export const publishedFile = (directory: string): string => join(directory, 'fieldwork.duckdb')
export const parquetDirectory = (directory: string): string => join(directory, 'parquet')
/** Who holds the work database; kept beside it because the database itself cannot be read while it is held. */
export const holderFile = (directory: string): string => join(directory, 'work.holder.json')
/** Where DuckDB may spill while it works. */
export const spillDirectory = (directory: string): string => join(directory, 'work.spill')
