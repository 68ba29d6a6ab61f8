/**
 * Opens published states to be checked. DuckDB may spill to a temporary directory of the system, because the published one may be
 * read-only. Views that a Parquet version does not have are created in memory.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openParquet } from '../../publish/parquet/reader.js'
import { type Database, type OpenOptions, openDatabase } from '../../warehouse/connection/database.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import { defineView } from '../../warehouse/views/view-declaration.js'

/** `temporaryDirectory` is for the spill, and stays. Without it a new one is removed when the database is closed. */
export const openDatabaseFile = (file: string, temporaryDirectory?: string): Promise<Database> =>
  temporaryDirectory === undefined
    ? withSpill((options) => openDatabase(file, { ...options, readOnly: true }))
    : openDatabase(file, { temporaryDirectory, readOnly: true })

export const openParquetVersion = (directory: string): Promise<Database> =>
  withSpill(async (options) => {
    const database = await openParquet(directory, options)
    try {
      await database.transaction(async (sql) => {
        for (const view of ALL_VIEWS) await sql.run(defineView(view))
      })
      return database
    } catch (error) {
      await database.close()
      throw error
    }
  })

/** The directory is removed when the database is closed. */
const withSpill = async (open: (options: OpenOptions) => Promise<Database>): Promise<Database> => {
  const temporaryDirectory = await mkdtemp(join(tmpdir(), 'fieldwork-sync-verify-'))
  const remove = () => rm(temporaryDirectory, { recursive: true, force: true })
  try {
    const database = await open({ temporaryDirectory })
    const close = async () => {
      await database.close()
      await remove()
    }
    return { ...database, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await remove()
    throw error
  }
}
