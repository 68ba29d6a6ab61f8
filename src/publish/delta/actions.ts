/**
 * The actions of a Delta log, as far as we write or read them: one JSON object a line in a commit, one row in a checkpoint. They follow
 * the protocol with reader version 1 and writer version 2, which every reader knows.
 */
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parse } from '../../base/parse.js'
import { varcharCell } from '../../warehouse/connection/cells.js'
import type { Database } from '../../warehouse/connection/database.js'
import { literal, withoutPattern } from '../../warehouse/connection/ddl.js'

const texts = z.record(z.string(), z.string())
const partitionValues = z.record(z.string(), z.string().nullable())

const protocolSchema = z.object({ minReaderVersion: z.int(), minWriterVersion: z.int() })
export const PROTOCOL: z.output<typeof protocolSchema> = { minReaderVersion: 1, minWriterVersion: 2 }

const metaDataSchema = z.object({
  /** The id of the table, which never changes. */
  id: z.string(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  format: z.object({ provider: z.string(), options: texts.nullish() }),
  schemaString: z.string(),
  partitionColumns: z.array(z.string()),
  configuration: texts.nullish(),
  createdTime: z.number().nullish(),
})
export type MetaData = z.output<typeof metaDataSchema>

/** The progress of an application. We store the version of our manifest. */
const txnSchema = z.object({ appId: z.string(), version: z.number(), lastUpdated: z.number().nullish() })
export type Txn = z.output<typeof txnSchema>

const addSchema = z.object({
  /** The path relative to the table, URI-encoded. */
  path: z.string(),
  partitionValues,
  size: z.number(),
  modificationTime: z.number(),
  dataChange: z.boolean(),
  /** JSON text. */
  stats: z.string().nullish(),
})
export type Add = z.output<typeof addSchema>

const removeSchema = z.object({
  path: z.string(),
  deletionTimestamp: z.number().nullish(),
  dataChange: z.boolean(),
  extendedFileMetadata: z.boolean().nullish(),
  partitionValues: partitionValues.nullish(),
  size: z.number().nullish(),
})
export type Remove = z.output<typeof removeSchema>

/** Other programs write commits too, with other contents. */
const commitInfoSchema = z.object({
  timestamp: z.number().optional().catch(undefined),
  operation: z.string().optional().catch(undefined),
  operationParameters: z.object({ mode: z.string(), manifest: z.string() }).optional().catch(undefined),
  engineInfo: z.string().optional().catch(undefined),
  userMetadata: z.string().optional().catch(undefined),
})

const actionSchema = z.object({
  commitInfo: commitInfoSchema.nullish(),
  protocol: protocolSchema.nullish(),
  metaData: metaDataSchema.nullish(),
  txn: txnSchema.nullish(),
  add: addSchema.nullish(),
  remove: removeSchema.nullish(),
})
export type Action = z.output<typeof actionSchema>

/** Throws a `SyntaxError` or a `TypeError` if the text is no commit. */
export const parseActions = (text: string): readonly Action[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => parse(actionSchema, JSON.parse(line), 'a line of a commit'))

export const toLines = (actions: readonly Action[]): string =>
  actions.map((action) => `${JSON.stringify(action)}\n`).join('')

// Checkpoints of a log: Parquet files with one action a row, made by DuckDB.

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
