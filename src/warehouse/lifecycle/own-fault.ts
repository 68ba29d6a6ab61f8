/**
 * Tells a bug from a damaged file. Both can end with the same error of DuckDB: a flipped bit in a stored view is a name that no table
 * has, and so is a mistake in a statement of ours.
 */
import { systemClock } from '../../base/clock.js'
import { type Database, openDatabase } from '../connection/database.js'
import { isStatementFault } from '../connection/duckdb-error.js'
import { migrate } from './migrations.js'

/** Whether `work`, in which a statement failed, also fails in an empty warehouse of this version. Then no file is at fault. */
export const isOwnFault = async (work: (database: Database) => Promise<unknown>): Promise<boolean> => {
  await using database = await openDatabase(':memory:')
  await migrate(database, systemClock)
  try {
    await work(database)
    return false
  } catch (error) {
    if (isStatementFault(error)) return true
    throw error
  }
}
