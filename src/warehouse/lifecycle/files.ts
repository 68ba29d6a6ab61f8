/** The private files of a warehouse directory. `model/publish-formats` has the files that readers open. */
import { join } from 'node:path'

export const workFile = (directory: string): string => join(directory, 'work.duckdb')
/** The note that names the holder of the work database. It is a separate file, because a held database cannot be read. */
export const holderFile = (directory: string): string => join(directory, 'work.holder.json')
/** The start and the end of the last sync: `lastRunSchema` in `storage/last-run`. */
export const lastRunFile = (directory: string): string => join(directory, 'last-run.json')
/** The note that names the bucket to which the work database belongs, if there is one: `noteSchema` in `storage/bucket/documents`. */
export const bucketNoteFile = (directory: string): string => join(directory, 'bucket.json')
export const spillDirectory = (directory: string): string => join(directory, 'work.spill')
