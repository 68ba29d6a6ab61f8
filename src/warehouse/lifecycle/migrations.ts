/**
 * Brings a work database to the schema of this version: a new one is built from the declarations, an older one is migrated. Added columns
 * need no step (docs/decisions/warehouse.md#0037-warehouses-of-all-earlier-versions-are-migrated).
 */
import { createHash } from 'node:crypto'
import { sum } from 'd3-array'
import { z } from 'zod'
import type { Clock } from '../../base/clock.js'
import { instantFromMs } from '../../model/instant.js'
import { ALL_TABLES, SCHEMA_VERSION } from '../../model/sync-tables.js'
import { bigintCell } from '../connection/cells.js'
import { columnPaths, type Database, openDatabase, type Sql } from '../connection/database.js'
import { addColumn, commentsOn, createTable, qualified } from '../connection/ddl.js'
import { isStatementFault } from '../connection/duckdb-error.js'
import { WarehouseUnusableError } from '../connection/errors.js'
import { ALL_VIEWS } from '../views/all.js'
import { createView, defineView } from '../views/view-declaration.js'
import { dropOtherViews } from './plain-data.js'
import { refuseNewer, schemaVersion } from './version.js'

interface Migration {
  readonly version: number
  readonly description: string
  readonly statements: readonly string[]
}

const RENAMED_REASON = `CASE WHEN reason IN ('settling', 'old', 'sources') THEN 'inactive' WHEN reason = 'asked' THEN 'requested'
  WHEN reason = 'resting' THEN 'not_due' ELSE reason END`

/**
 * The steps to each later version, in order. A step has the changes that do not follow from declarations: renames, changes of type, data.
 */
const MIGRATIONS: readonly Migration[] = [
  {
    version: 4,
    description: 'A full listing and one of changes can both be under way',
    statements: [
      'ALTER TABLE _sync.listings RENAME first_total_count TO least_total_count',
      'ALTER TABLE _sync.listed_ids ADD COLUMN kind VARCHAR COLLATE C',
      'UPDATE _sync.listed_ids i SET kind = l.kind FROM _sync.listings l WHERE l.account = i.account',
    ],
  },
  {
    version: 5,
    description: 'One rule says when a survey is read',
    statements: [
      'ALTER TABLE main.freshness DROP COLUMN IF EXISTS source_progress_proven_at',
      `UPDATE _sync.tasks SET reason = ${RENAMED_REASON}`,
      `CREATE TEMP TABLE renamed AS SELECT * REPLACE (${RENAMED_REASON} AS reason) FROM _sync.requests`,
      'DELETE FROM _sync.requests',
      `INSERT INTO _sync.requests BY NAME SELECT * REPLACE (sum(made)::BIGINT AS made, sum(saved)::BIGINT AS saved)
        FROM temp.renamed GROUP BY ALL`,
      'DROP TABLE temp.renamed',
    ],
  },
  {
    version: 6,
    description: 'Answers 429 are no refusals',
    statements: ['ALTER TABLE _sync.runs RENAME refusals TO rate_limited'],
  },
  {
    version: 7,
    description: 'The plan has the due dates',
    statements: ['DROP TABLE IF EXISTS main.deadlines'],
  },
  {
    // `storeTimeZone` computes the days.
    version: 8,
    description: 'A reading belongs to a day of fieldwork',
    statements: [],
  },
]

/** Tests pass another `schema`. */
export const migrate = async (
  database: Database,
  clock: Clock,
  schema = { version: SCHEMA_VERSION, migrations: MIGRATIONS },
): Promise<void> => {
  const version = await database.exclusively(schemaVersion)
  refuseNewer(database.file, version, schema.version)
  const steps = schema.migrations.filter((step) => version > 0 && step.version > version)
  if (version > 0 && version + steps.length < schema.version)
    throw new WarehouseUnusableError(
      `${database.file} has schema version ${version}, which no release had, so nothing migrates it. Move it and what is published beside it elsewhere, and run again`,
    )
  for (const migration of steps) {
    await database.transaction(async (sql) => {
      for (const statement of migration.statements) await sql.run(statement)
      await record(sql, migration.version, migration.description, clock)
    })
  }
  const missing = await database.exclusively(missingParts)
  await database.transaction(async (sql) => {
    await sql.run('CREATE SCHEMA IF NOT EXISTS _sync')
    for (const statement of missing) await sql.run(statement)
    if (version === 0) await record(sql, schema.version, 'Built from the declarations', clock)
    await dropOtherViews(sql)
  })
  await database.exclusively(describe)
}

/** Comments and views hold no data, so they are created again if they differ from this version. */
const DESCRIPTIONS = [...ALL_TABLES.map(commentsOn), ...ALL_VIEWS.map(createView)].map((parts) =>
  parts.join(';\n'),
)
const DESCRIPTIONS_DIGEST = createHash('sha256').update(DESCRIPTIONS.join(';')).digest('hex')

const COLUMNS = sum(ALL_TABLES.map(({ columns }) => columns.length))

/**
 * Whether the database has the schema of this version, by one statement. Every declared column has a comment, so an older file has another
 * digest. The number of columns shows whether a column is lost. False if the statement fails, as in a new file.
 */
export const hasCurrentSchema = async (sql: Sql): Promise<boolean> => {
  try {
    const [row] = await sql.rows(
      z.object({ version: bigintCell.nullable(), digest: z.string().nullable(), columns: bigintCell }),
      `SELECT max(version) AS version, max(descriptions_digest) AS digest, (SELECT coalesce(sum(column_count), 0)::BIGINT
        FROM duckdb_tables() WHERE database_name = current_database() AND comment IS NOT NULL) AS columns FROM _sync.schema_version`,
    )
    return row?.version === SCHEMA_VERSION && row.digest === DESCRIPTIONS_DIGEST && row.columns >= COLUMNS
  } catch (error) {
    if (isStatementFault(error)) return false
    throw error
  }
}

/**
 * The next open repeats what a kill interrupts, because the digest comes last. Every statement is a transaction of its own: within one,
 * DuckDB keeps a copy of a view for each comment on a column of this view, 86 MB in all.
 */
const describe = async (sql: Sql): Promise<void> => {
  // In groups: one by one, the statements take longer, and so do all at once, because DuckDB copies the whole text for each statement.
  for (const statements of DESCRIPTIONS) await sql.run(statements)
  await sql.run('UPDATE _sync.schema_version SET descriptions_digest = $1', [DESCRIPTIONS_DIGEST])
}

const missingParts = async (sql: Sql): Promise<readonly string[]> => {
  const existing = await columnPaths(sql)
  return ALL_TABLES.flatMap((table) => {
    const missing = table.columns.filter(({ name }) => !existing.has(`${table.schema}.${table.name}.${name}`))
    return missing.length === table.columns.length
      ? createTable(table)
      : missing.map((column) => addColumn(table, column))
  })
}

const record = (sql: Sql, version: number, description: string, clock: Clock): Promise<void> =>
  sql.run(
    `INSERT INTO ${qualified({ schema: '_sync', name: 'schema_version' })} (version, applied_at, description) VALUES ($1, $2, $3)`,
    [version, instantFromMs(clock.nowMs()), description],
  )

/**
 * Distinguishes a bug from a damaged file: whether `work`, in which a statement failed, also fails in an empty warehouse of this version,
 * so that no file is at fault. Both can have the same error of DuckDB: an unknown name is a mistake of ours, or a flipped bit in a stored
 * view.
 */
export const isOwnFault = async (work: (database: Database) => Promise<unknown>): Promise<boolean> => {
  await using database = await openDatabase(':memory:')
  // Without comments, which no statement needs, and which take longer than everything else.
  const parts = ['CREATE SCHEMA _sync', ...ALL_TABLES.map(createTable), ...ALL_VIEWS.map(defineView)]
  const version = `INSERT INTO _sync.schema_version (version, applied_at, description) VALUES (${SCHEMA_VERSION}, now(), '')`
  await database.exclusively((sql) => sql.run([...parts, version].join(';\n')))
  try {
    await work(database)
    return false
  } catch (error) {
    if (isStatementFault(error)) return true
    throw error
  }
}
