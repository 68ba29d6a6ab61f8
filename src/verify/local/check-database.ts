/** Checks a published DuckDB file: its blocks, then every rule of its tables and views. */
import { haveBlocksChecksums } from '../../publish/block-checksums.js'
import { readEverything } from '../../publish/duckdb-copy.js'
import type { Database } from '../../warehouse/connection/database.js'
import { type CheckedTables, checkTables } from './check-tables.js'

interface DatabaseFile {
  readonly file: string
  /** Its path, for people. */
  readonly state: string
  readonly database: Database
  readonly signal: AbortSignal
}

/** Throws the errors of DuckDB, also those of a damaged block. */
export const checkDatabaseFile = async (checked: DatabaseFile): Promise<CheckedTables> => {
  const { file, database, signal } = checked
  // A free block may be without its checksum. DuckDB reads every block that it uses.
  if (!(await haveBlocksChecksums(file, signal)))
    await database.exclusively((sql) => database.interruptibly(signal, () => readEverything(sql, signal)))
  const { checks, problems } = await checkTables(checked)
  return { checks: checks + 1, problems }
}
