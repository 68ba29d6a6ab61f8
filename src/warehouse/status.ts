/** Reads the status of a warehouse from its published state, whose readers block nobody. */
import { z } from 'zod'
import { makeTemporaryDirectory } from '../base/temporary-directory.js'
import type { TableDeclaration } from '../model/columns.js'
import { ALL_TABLES, SCHEMA_VERSION } from '../model/sync-tables.js'
import { bigintCell, timestamptzCell, varcharCell } from './connection/cells.js'
import { columnPaths, type Database, type OpenOptions, type Sql } from './connection/database.js'
import { literal, qualified } from './connection/ddl.js'
import { duckdbCause, isOutOfMemory, isStatementFault, unreadable } from './connection/duckdb-error.js'
import { WarehouseUnusableError } from './connection/errors.js'
import { COMPLETE_SYNCS, NUMBERED_RUNS } from './history/runs.js'
import { isOwnFault } from './lifecycle/migrations.js'
import { schemaVersion } from './lifecycle/version.js'
import { FRESHNESS } from './queue/older-state.js'
import { readFailing, readQueue } from './queue/tasks.js'
import { LEAVES_OUT } from './queue/unlisted-surveys.js'

const RUNS_SHOWN = 5

/** The most failing surveys that are shown. `queue` counts all of them. */
const FAILING_SHOWN = 20
const LEFT_OUT_SHOWN = 20

const runRow = z.object({
  run_id: varcharCell,
  account: varcharCell,
  started_at: timestamptzCell,
  ended_at: timestamptzCell.nullable(),
  status: varcharCell,
  exit_code: bigintCell.nullable(),
  reason: varcharCell.nullable(),
  requests: bigintCell.nullable(),
  rate_limited: bigintCell.nullable(),
  surveys_refreshed: bigintCell.nullable(),
  left_over: bigintCell.nullable(),
})
const syncRow = z.object({
  ...runRow.pick({ run_id: true, account: true, exit_code: true, reason: true, surveys_refreshed: true })
    .shape,
  error_code: varcharCell.nullable(),
  ended_at: timestamptzCell,
  complete_at: timestamptzCell.nullable(),
})
const cursorRow = z.object({
  account: varcharCell,
  updated_since: timestamptzCell,
  full_listed_at: timestamptzCell,
  moved_at: timestamptzCell,
})
const freshnessRow = z.object({
  account: varcharCell,
  surveys: bigintCell,
  never_refreshed: bigintCell,
  oldest_refresh_at: timestamptzCell.nullable(),
  newest_refresh_at: timestamptzCell.nullable(),
  with_error: bigintCell,
  excluded: bigintCell,
})
const leftOutRow = z.object({
  account: varcharCell,
  survey_id: bigintCell,
  unlisted_since: timestamptzCell.nullable(),
  sources_left_out: bigintCell.nullable(),
})
const tableRow = z.object({ table: varcharCell, rows: bigintCell })
const driftRow = z.object({
  account: varcharCell,
  resource: varcharCell,
  path: varcharCell,
  value: varcharCell.nullable(),
  kind: varcharCell,
  occurrences: bigintCell,
  first_seen_at: timestamptzCell,
  last_seen_at: timestamptzCell,
})
const rejectionRow = z.object({
  account: varcharCell,
  endpoint: varcharCell,
  problem: varcharCell,
  rows: bigintCell,
  replayed: bigintCell,
  first_at: timestamptzCell,
  last_at: timestamptzCell,
})

/**
 * Opens the local `file` of a published state, and reads it until `signal` aborts. Throws `WarehouseUnusableError`, which names `path`, if
 * it cannot be read.
 */
export const readPublished = async <Result>(
  {
    path,
    file,
    open,
  }: { path: string; file: string; open: (file: string, options: OpenOptions) => Promise<Database> },
  signal: AbortSignal,
  read: (database: Database) => Promise<Result>,
): Promise<Result> => {
  // By default DuckDB spills beside the published file, where a reader may have no right to write. Without a directory it does not spill.
  let unmade: unknown = null
  await using spill = await makeTemporaryDirectory('read').catch((error: unknown) => {
    unmade = error
    return null
  })
  await using database = await open(file, { threads: 2, temporaryDirectory: spill?.path ?? '' }).catch(
    (error: unknown) => {
      throw unreadable(path, error)
    },
  )
  try {
    return await database.interruptibly(signal, () => read(database))
  } catch (error) {
    // A state of an older version may lack tables or columns that a statement reads.
    const isBug = isStatementFault(error) && (await isOwnFault(read))
    if (isBug) throw error
    if (isOutOfMemory(duckdbCause(error)) && unmade !== null) throw unmade
    throw unreadable(path, error, spill?.path)
  }
}

/** For a command that reads columns that older versions did not publish. Throws `WarehouseUnusableError`. */
export const requireCurrentSchema = async (
  database: Database,
  path: string,
  command: string,
): Promise<void> => {
  const version = await database.transaction(schemaVersion)
  if (version < SCHEMA_VERSION)
    throw new WarehouseUnusableError(
      `${path} was published by an older fieldwork-sync (schema version ${version}; this one needs ${SCHEMA_VERSION}). Run fieldwork-sync sync once, then fieldwork-sync ${command}`,
    )
}

const columnsOf = (row: z.ZodObject): string => Object.keys(row.shape).join(', ')

/** The tables for readers. A state of an older version lacks newer tables. */
const publishedTables = async (sql: Sql): Promise<readonly TableDeclaration[]> => {
  const paths = await columnPaths(sql, `schema_name = 'main'`)
  return ALL_TABLES.filter(({ schema, name }) => schema === 'main' && paths.has(`main.${name}.account`))
}

/**
 * The last sync of each account that ended or was killed, and when its last complete sync ended. One that was killed has no `exit_code`, and
 * `ended_at` is its start.
 */
export const readSyncs = (sql: Pick<Sql, 'rows'>) =>
  sql.rows(
    syncRow,
    `SELECT ${columnsOf(syncRow)}
      FROM (SELECT * REPLACE (coalesce(ended_at, started_at) AS ended_at) FROM ${NUMBERED_RUNS}
        WHERE command = 'sync' AND (ended_at IS NOT NULL OR status = 'killed')
        QUALIFY row_number() OVER (PARTITION BY account ORDER BY run_number DESC) = 1)
      LEFT JOIN ${COMPLETE_SYNCS} USING (account) ORDER BY account`,
  )

export const readStatus = async (sql: Sql) => ({
  runs: await sql.rows(
    runRow,
    `SELECT ${columnsOf(runRow)} FROM ${NUMBERED_RUNS} ORDER BY run_number DESC, account LIMIT ${RUNS_SHOWN}`,
  ),
  syncs: await readSyncs(sql),
  cursors: await sql.rows(cursorRow, `SELECT ${columnsOf(cursorRow)} FROM _sync.cursors ORDER BY account`),
  queue: await readQueue(sql),
  failing: await readFailing(sql, FAILING_SHOWN),
  freshness: await sql.rows(
    freshnessRow,
    `SELECT account, count(*) AS surveys, count(*) FILTER (refreshed_at IS NULL AND excluded_by IS NULL) AS never_refreshed,
      min(refreshed_at) FILTER (excluded_by IS NULL) AS oldest_refresh_at, max(refreshed_at) AS newest_refresh_at,
      count(last_error) FILTER (excluded_by IS NULL) AS with_error, count(excluded_by) AS excluded
      FROM ${FRESHNESS} GROUP BY ALL ORDER BY ALL`,
  ),
  left_out: await sql.rows(
    leftOutRow,
    `SELECT f.account, f.survey_id, CASE WHEN ${LEAVES_OUT} THEN f.unlisted_since END AS unlisted_since, f.sources_left_out
      FROM ${FRESHNESS} f JOIN main.surveys s ON s.account = f.account AND s.id = f.survey_id
      WHERE s._missing_since IS NULL AND f.excluded_by IS NULL AND (${LEAVES_OUT} OR f.sources_left_out > 0)
      ORDER BY ALL LIMIT ${LEFT_OUT_SHOWN}`,
  ),
  tables: await sql.rows(
    tableRow,
    (await publishedTables(sql))
      .map((table) => `SELECT ${literal(table.name)} AS "table", count(*) AS "rows" FROM ${qualified(table)}`)
      .join(' UNION ALL '),
  ),
  drift: await sql.rows(
    driftRow,
    `SELECT ${columnsOf(driftRow)} FROM _sync.drift_events
      ORDER BY last_seen_at DESC, resource, path, value, kind`,
  ),
  rejections: await sql.rows(
    rejectionRow,
    `SELECT account, endpoint, problem, count(*) AS "rows", count(replayed_at) AS replayed,
        min(rejected_at) AS first_at, max(rejected_at) AS last_at
      FROM _sync.rejected_rows GROUP BY ALL ORDER BY last_at DESC, endpoint, problem`,
  ),
})

export type WarehouseStatus = Awaited<ReturnType<typeof readStatus>>
