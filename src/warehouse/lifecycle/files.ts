/** The files of a warehouse directory that are private to the job. What readers open is in `model/publish-formats`. */
import { join } from 'node:path'

export const workFile = (directory: string): string => join(directory, 'work.duckdb')
/** Who holds the work database; kept beside it because the database itself cannot be read while it is held. */
export const holderFile = (directory: string): string => join(directory, 'work.holder.json')
/** Where DuckDB may spill while it works. */
export const spillDirectory = (directory: string): string => join(directory, 'work.spill')
