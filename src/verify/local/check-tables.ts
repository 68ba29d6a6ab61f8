/** Opens published states, and checks every rule of their tables and views. */
import { z } from 'zod'
import { throwIfAborted } from '../../base/signals.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import { ALL_TABLES, SCHEMA_VERSION } from '../../model/sync-tables.js'
import { openPublishedFile } from '../../publish/duckdb.js'
import { openParquet } from '../../publish/parquet/reader.js'
import { bigintCell, varcharCell } from '../../warehouse/connection/cells.js'
import {
  columnPaths,
  type Database,
  type OpenOptions,
  type Sql,
} from '../../warehouse/connection/database.js'
import { qualified, quote } from '../../warehouse/connection/ddl.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import { type LocalProof, type Problem, PUBLISH_AGAIN } from './proof.js'
import { BOOKKEEPING_RULES } from './rules/bookkeeping.js'
import { HISTORY_RULES, PERIOD_RULES, type Rule, TABLE_RULES, VIEW_RULES } from './rules/rows.js'

const RULES_OF_TABLES = [...TABLE_RULES, ...HISTORY_RULES, ...BOOKKEEPING_RULES]
const RULES_OF_VIEWS = [...VIEW_RULES, ...PERIOD_RULES]
export const ALL_RULES: readonly Rule[] = [...RULES_OF_TABLES, ...RULES_OF_VIEWS]

/**
 * Groups of rules, each checked by one query. Each view is evaluated once. The rows of a view that other views read are in a temporary
 * table `evaluated`, which hides the view from them, and those of another view in the CTE `from`.
 */
const QUERIES: readonly {
  readonly rules: readonly Rule[]
  readonly from?: string
  readonly evaluated?: string
}[] = [
  ...RULES_OF_TABLES.map((rule) => ({ rules: [rule] })),
  ...ALL_VIEWS.map((view) => {
    const rules = RULES_OF_VIEWS.filter(({ where }) => where === view.name)
    const [name, rows] = [quote(view.name), `(FROM ${qualified(view)})`]
    return ALL_VIEWS.some(({ sql }) => new RegExp(`main\\.${view.name}\\b`).test(sql))
      ? { rules, evaluated: `CREATE TEMP TABLE ${name} AS ${rows}` }
      : { rules, from: `WITH ${name} AS MATERIALIZED ${rows}` }
  }),
]

interface OpenState {
  /** The path of the state, for people. */
  readonly state: string
  readonly database: Database
  readonly signal: AbortSignal
}

/** Throws the errors of DuckDB, and a `WarehouseUnusableError` if another version published the state. */
export const checkTables = async ({
  state,
  database,
  signal,
}: OpenState): Promise<Pick<LocalProof, 'checks' | 'problems'>> => {
  await database.exclusively((sql) => requireDeclaredColumns(sql, state))
  const problems: Problem[] = []
  for (const { rules, from = '', evaluated } of QUERIES) {
    throwIfAborted(signal)
    const text = rules.map(
      ({ sql }, index) =>
        `SELECT ${index} AS index, count(*) AS count, min(example) AS example FROM (${sql})`,
    )
    const results = await database.exclusively((sql) =>
      database.interruptibly(signal, async () => {
        if (evaluated !== undefined) await sql.run(evaluated)
        return await sql.rows(resultRow, `${from} ${text.join(' UNION ALL ')}`)
      }),
    )
    for (const [index, { rule, where, says }] of rules.entries()) {
      const { count = 0, example } = results.find((row) => row.index === index) ?? {}
      if (count > 0)
        problems.push({ rule, where, says, count, example: example ?? '', advice: PUBLISH_AGAIN, state })
    }
  }
  return { checks: ALL_RULES.length, problems }
}

const resultRow = z.object({ index: bigintCell, count: bigintCell, example: varcharCell.nullable() })

/** Older versions published other columns, which the rules do not know. */
export const requireDeclaredColumns = async (sql: Sql, state: string): Promise<void> => {
  const paths = await columnPaths(sql)
  const lacking = ALL_TABLES.flatMap(({ schema, name, columns }) =>
    columns.map((column) => `${schema}.${name}.${column.name}`),
  ).filter((path) => !paths.has(path))
  if (lacking.length > 0)
    throw new WarehouseUnusableError(
      `${state} has no column ${lacking[0]}: another version of fieldwork-sync published it (this one has schema version ${SCHEMA_VERSION}). Run fieldwork-sync sync once, then fieldwork-sync verify`,
    )
}

export const openDatabaseFile = (file: string): Promise<Database> =>
  withSpill((options) => openPublishedFile(file, options))

export const openParquetVersion = (directory: string): Promise<Database> =>
  withSpill((options) => openParquet(directory, options, ALL_VIEWS))

/** With this, the process stays below 512 MB for a warehouse of any size: the rest spills. */
export const MEMORY_MAX = '128MB'

/**
 * DuckDB may spill to a temporary directory of the system, because the directory of the published state may be read-only. The temporary
 * directory is removed when the database is closed.
 */
const withSpill = async (open: (options: OpenOptions) => Promise<Database>): Promise<Database> => {
  const spill = await makeTemporaryDirectory('verify')
  try {
    const database = await open({ temporaryDirectory: spill.path, memoryLimit: MEMORY_MAX })
    const close = async () => {
      await database.close()
      await spill[Symbol.asyncDispose]()
    }
    return { ...database, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await spill[Symbol.asyncDispose]()
    throw error
  }
}
