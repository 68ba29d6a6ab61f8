/** Writes and reads the checkpoints of a Delta log: Parquet files with one action a row, made by DuckDB. */
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { varcharCell } from '../../warehouse/connection/cells.js'
import type { Database } from '../../warehouse/connection/database.js'
import { literal } from '../../warehouse/connection/ddl.js'
import { withoutPattern } from '../parquet/sql.js'
import { type Action, parseActions, toLines } from './actions.js'

const MAP = 'MAP(VARCHAR, VARCHAR)'

/** The columns of a checkpoint, as the protocol names them. */
const COLUMNS: Readonly<Record<string, string>> = {
  txn: 'STRUCT(appId VARCHAR, version BIGINT, lastUpdated BIGINT)',
  add: `STRUCT(path VARCHAR, partitionValues ${MAP}, size BIGINT, modificationTime BIGINT, dataChange BOOLEAN, stats VARCHAR)`,
  remove: `STRUCT(path VARCHAR, deletionTimestamp BIGINT, dataChange BOOLEAN, extendedFileMetadata BOOLEAN, partitionValues ${MAP}, size BIGINT)`,
  metaData: `STRUCT(id VARCHAR, name VARCHAR, description VARCHAR, format STRUCT(provider VARCHAR, options ${MAP}), schemaString VARCHAR, partitionColumns VARCHAR[], configuration ${MAP}, createdTime BIGINT)`,
  protocol: 'STRUCT(minReaderVersion INTEGER, minWriterVersion INTEGER)',
}

/** Runs `work` with the path of a new file in `directory`, and removes the file. */
export const withTemporary = async <Result>(directory: string, work: (file: string) => Promise<Result>) => {
  const file = join(directory, `.delta-${randomUUID()}`)
  try {
    return await work(file)
  } finally {
    await rm(file, { force: true })
  }
}

export const writeCheckpoint = (database: Database, actions: readonly Action[], file: string) => {
  const columns = Object.entries(COLUMNS).map(([name, type]) => `${literal(name)}: ${literal(type)}`)
  return withTemporary(join(file, '..'), async (lines) => {
    await writeFile(lines, toLines(actions))
    await database.exclusively((sql) =>
      sql.run(`COPY (FROM read_json(${literal(withoutPattern(lines))}, format = 'newline_delimited', auto_detect = false,
          columns = {${columns.join(', ')}}, maximum_object_size = ${ACTION_BYTES_MAX}))
        TO ${literal(file)} (FORMAT parquet, COMPRESSION snappy, USE_TMP_FILE false)`),
    )
  })
}

const ACTION_BYTES_MAX = 16_777_216

export const readCheckpoint = async (database: Database, file: string): Promise<readonly Action[]> => {
  const cells = Object.keys(COLUMNS).map((name) => `${literal(name)}, "${name}"`)
  const rows = await database.exclusively((sql) =>
    sql.rows(
      z.object({ line: varcharCell }),
      `SELECT CAST(json_object(${cells.join(', ')}) AS VARCHAR) AS line FROM read_parquet(${literal(withoutPattern(file))})`,
    ),
  )
  return parseActions(rows.map(({ line }) => line).join('\n'))
}
