/** What the tests of the bucket share. */
import { DuckDBInstance } from '@duckdb/node-api'
import { scriptedSurveys } from '../support/api/scripted-api.js'

export const surveys = (count = 3) => scriptedSurveys(count, {}, 1)

/** A table that is not ours stays in the work database. It is more than one part of an upload, and cannot be compressed. */
export const addBallast = async (file: string): Promise<void> => {
  const database = await DuckDBInstance.create(file)
  const connection = await database.connect()
  await connection.run('CREATE TABLE ballast AS SELECT random() AS value FROM range(4_000_000)')
  connection.closeSync()
  database.closeSync()
}
