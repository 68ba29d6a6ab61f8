/**
 * What somebody who may write a DuckDB file can put into it besides rows, so that a program that reads the file would run it. Each plant
 * tries to show the content of a secret file, or to change what our statements mean.
 */
import { chmod } from 'node:fs/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { literal } from '../../../src/warehouse/connection/ddl.js'

/** `refused`: nothing can be read from the file. `dropped`: the next run removes it. Commands that only read refuse both. */
interface Plant {
  readonly fate: 'refused' | 'dropped'
  readonly sql: (secret: string) => string
}

const contentOf = (secret: string): string => `(SELECT content FROM read_text(${literal(secret)}))`

/** A view of the name, with the same columns, whose text `column` is the secret. */
const viewOver =
  (name: string, column: string) =>
  (secret: string): string =>
    `CREATE TABLE main.kept AS FROM ${name}; DROP TABLE IF EXISTS ${name};
     CREATE VIEW ${name} AS SELECT * REPLACE (${contentOf(secret)} AS ${column}) FROM main.kept`

/** By what the error of a refusal names. */
export const PLANTS: Readonly<Record<string, Plant>> = {
  'view in place of the table main.surveys': { fate: 'refused', sql: viewOver('main.surveys', 'title') },
  'view in place of the table _sync.runs': { fate: 'refused', sql: viewOver('_sync.runs', 'reason') },
  'view in place of the table _sync.schema_version': {
    fate: 'refused',
    sql: viewOver('_sync.schema_version', 'description'),
  },
  'computed column in the table _sync.schema_version': {
    fate: 'refused',
    sql: () => `DROP TABLE _sync.schema_version; CREATE TABLE _sync.schema_version (seen BIGINT, version BIGINT AS (seen + 99));
      INSERT INTO _sync.schema_version (seen) VALUES (1)`,
  },
  'table in place of the view main.needs_action': {
    fate: 'refused',
    sql: () => 'DROP VIEW main.needs_action; CREATE TABLE main.needs_action AS SELECT 1 AS account',
  },
  'computed column in the table main.surveys': {
    fate: 'refused',
    sql: () => `CREATE TABLE main.kept AS SELECT * EXCLUDE (title) FROM main.surveys; DROP TABLE main.surveys;
      CREATE TABLE main.surveys AS FROM main.kept; ALTER TABLE main.surveys ADD COLUMN title VARCHAR DEFAULT upper('evil')`,
  },
  'constraint of the table main.planted': {
    fate: 'refused',
    sql: () => 'CREATE TABLE main.planted (a BIGINT CHECK (a + 1 > 0))',
  },
  'column of another type in the table main.surveys': {
    fate: 'refused',
    sql: () => `CREATE TABLE main.kept AS SELECT * REPLACE (CAST(id AS VARCHAR) AS id) FROM main.surveys;
      DROP TABLE main.surveys; ALTER TABLE main.kept RENAME TO surveys`,
  },
  'macro main.concat': {
    fate: 'dropped',
    sql: (secret) => `CREATE MACRO main.concat(a, b) AS ${contentOf(secret)}`,
  },
  'macro main.+': {
    fate: 'dropped',
    sql: (secret) =>
      `CREATE MACRO main."+"(a, b) AS (SELECT length(content) FROM read_text(${literal(secret)}))`,
  },
  'macro table main.duckdb_functions': {
    fate: 'dropped',
    sql: () => `CREATE MACRO main.duckdb_functions() AS TABLE SELECT 'nothing' AS function_name WHERE false`,
  },
  'sequence main.numbers': { fate: 'dropped', sql: () => 'CREATE SEQUENCE main.numbers' },
  'type main.hugeint_of_theirs': {
    fate: 'dropped',
    sql: () => `CREATE TYPE main.hugeint_of_theirs AS ENUM ('a')`,
  },
  'index main.ids': { fate: 'dropped', sql: () => 'CREATE INDEX ids ON main.surveys (id)' },
  'schema theirs': {
    fate: 'dropped',
    sql: (secret) =>
      `CREATE SCHEMA theirs; CREATE VIEW theirs.surveys AS SELECT ${contentOf(secret)} AS title`,
  },
}

/** Views of ours, and a text column of each. */
export const PLANTED_VIEWS: Readonly<Record<string, string>> = {
  surveys_today: 'title',
  survey_overview: 'title',
  needs_action: 'text',
  survey_pace: 'title',
  record_changes: 'field',
  progress_daily: 'account',
}

/** Each of these views shows the secret in its text, and one more does. No command runs them, and the next run creates ours again. */
export const plantedViews = (secret: string): string =>
  [
    `CREATE VIEW main.planted AS SELECT ${contentOf(secret)} AS title`,
    ...Object.entries(PLANTED_VIEWS).map(
      ([name, column]) => `CREATE OR REPLACE TABLE main.kept_${name} AS FROM main.${name};
        CREATE OR REPLACE VIEW main.${name} AS SELECT * REPLACE (${contentOf(secret)} AS ${column}) FROM main.kept_${name}`,
    ),
  ].join(';\n')

/** Selects what is not ours in the database in use. */
export const OTHERS_SQL = `SELECT name FROM (SELECT view_name AS name, database_name AS of FROM duckdb_views()
      WHERE NOT internal AND (sql LIKE '%read_text%' OR view_name = 'planted')
    UNION ALL SELECT function_name, database_name FROM system.main.duckdb_functions() WHERE NOT internal
    UNION ALL SELECT sequence_name, database_name FROM duckdb_sequences()
    UNION ALL SELECT type_name, database_name FROM duckdb_types() WHERE NOT internal
    UNION ALL SELECT index_name, database_name FROM duckdb_indexes()
    UNION ALL SELECT schema_name, database_name FROM duckdb_schemas() WHERE NOT internal AND schema_name <> '_sync')
  WHERE of = current_database()`

/** Runs `sql` on a DuckDB file as its writer would, with a DuckDB that may do everything. */
export const plantIn = async (file: string, sql: string): Promise<void> => {
  await chmod(file, 0o644)
  const instance = await DuckDBInstance.create(file, { threads: '1' })
  const connection = await instance.connect()
  try {
    await connection.run(sql)
    await connection.run('CHECKPOINT')
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}
