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
import { ALL_VIEWS, withTemporaryViews } from '../../warehouse/views/all.js'
import { type LocalProof, type Problem, PUBLISH_AGAIN } from './proof.js'
import { BOOKKEEPING_RULES } from './rules/bookkeeping.js'
import { HISTORY_RULES, PERIOD_RULES, type Rule, TABLE_RULES, VIEW_RULES } from './rules/rows.js'
import { surveyParts } from './survey-parts.js'

const RULES_OF_TABLES = [...TABLE_RULES, ...HISTORY_RULES, ...BOOKKEEPING_RULES]
const RULES_OF_VIEWS = [...VIEW_RULES, ...PERIOD_RULES]
export const ALL_RULES: readonly Rule[] = [...RULES_OF_TABLES, ...RULES_OF_VIEWS]

/** Views that other views read. They become temporary tables, so that each is evaluated once. */
const EVALUATED = ALL_VIEWS.map(({ name }) => name).filter((name) =>
  ALL_VIEWS.some(({ sql }) => new RegExp(`main\\.${name}\\b`).test(sql)),
)

/** Rules that one query checks. `from` evaluates the view that they read, if no temporary table has its rows. */
interface Group {
  readonly rules: readonly Rule[]
  readonly from: string
}

const OF_TABLES: readonly Group[] = RULES_OF_TABLES.map((rule) => ({ rules: [rule], from: '' }))
const OF_VIEWS: readonly Group[] = ALL_VIEWS.map((view) => ({
  rules: RULES_OF_VIEWS.filter(({ where }) => where === view.name),
  from: EVALUATED.includes(view.name)
    ? ''
    : `WITH ${quote(view.name)} AS MATERIALIZED (FROM ${qualified(view)})`,
}))

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
  const problems = new Map<Rule, Problem>()
  const check = async (sql: Sql, groups: readonly Group[]) => {
    for (const { rules, from } of groups) {
      throwIfAborted(signal)
      const counts = rules.map(
        (rule, index) =>
          `SELECT ${index} AS index, count(*) AS count, min(example) AS example FROM (${rule.sql})`,
      )
      for (const found of await sql.rows(resultRow, `${from} ${counts.join(' UNION ALL ')}`)) {
        const rule = rules[found.index]
        if (rule === undefined || found.count === 0) continue
        const { count, example } = problems.get(rule) ?? { count: 0, example: found.example ?? '' }
        const { sql: _, ...named } = rule
        problems.set(rule, { ...named, advice: PUBLISH_AGAIN, state, count: count + found.count, example })
      }
    }
  }
  await database.exclusively((sql) =>
    database.interruptibly(signal, async () => {
      await requireDeclaredColumns(sql, state)
      await check(sql, OF_TABLES)
      for (const tables of await surveyParts(sql))
        await withTemporaryViews(sql, [...tables, ...ALL_VIEWS], EVALUATED, () => check(sql, OF_VIEWS))
    }),
  )
  return { checks: ALL_RULES.length, problems: ALL_RULES.flatMap((rule) => problems.get(rule) ?? []) }
}

const resultRow = z.object({ index: bigintCell, count: bigintCell, example: varcharCell.nullable() })

/** Older versions published other columns, which the rules do not know. */
const requireDeclaredColumns = async (sql: Sql, state: string): Promise<void> => {
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
  withSpill((options) => openParquet(directory, options))

/**
 * With this, the process stays below 512 MB, and the rest spills. It is too little to compare both formats of 60,000 surveys of five years:
 * that ends with exit 7, out of memory.
 */
export const OPENING: OpenOptions = { memoryLimit: '160MB', threads: 2 }

/**
 * DuckDB may spill to a temporary directory of the system, because the directory of the published state may be read-only. The temporary
 * directory is removed when the database is closed.
 */
const withSpill = async (open: (options: OpenOptions) => Promise<Database>): Promise<Database> => {
  const spill = await makeTemporaryDirectory('verify')
  try {
    const database = await open({ ...OPENING, temporaryDirectory: spill.path })
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
