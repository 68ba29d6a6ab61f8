/** `schema` prints the tables and views that a warehouse has. */
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { schemaAsDbt, schemaAsJson, schemaAsMarkdown, schemaAsSql } from '../../../src/commands/schema.js'
import { ALL_TABLES } from '../../../src/model/sync-tables.js'
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'
import { runWarm } from '../../support/command/warm.js'
import { dbtTables } from '../../support/dbt/dbt-sources.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { query } from '../../support/warehouse/duckdb.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'

const RELATIONS = [...ALL_TABLES, ...ALL_VIEWS]
const fullName = ({ schema, name }: { schema: string; name: string }) => `${schema}.${name}`

const CATALOG = `SELECT schema_name, table_name, NULL AS column_name, comment, NULL AS type, NULL AS nullable
    FROM duckdb_tables() WHERE database_name = current_database()
  UNION ALL SELECT schema_name, view_name, NULL, comment, NULL, NULL FROM duckdb_views() WHERE database_name = current_database() AND NOT internal
  UNION ALL SELECT schema_name, table_name, column_name, comment, data_type, is_nullable
    FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal ORDER BY ALL`

test('the SQL creates the tables, views and comments of an empty warehouse', async () => {
  const warehouse = await testWarehouse()
  const file = join(await temporaryDirectory(), 'made.duckdb')
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  await connection.run(schemaAsSql())
  connection.closeSync()
  instance.closeSync()
  const made = await query(file, CATALOG)
  expect(made).toEqual(await warehouse.rows(CATALOG))
  expect(made.length).toBeGreaterThan(300)
})

test('the JSON holds every table and view with its columns', () => {
  const json: unknown = JSON.parse(schemaAsJson())
  const { relations } = z
    .object({ relations: z.array(z.looseObject({ schema: z.string(), name: z.string() })) })
    .parse(json)
  const declared = RELATIONS.map(({ schema, name, comment, key, references, columns }) => ({
    schema,
    name,
    kind: ALL_VIEWS.some((view) => view.name === name) ? 'view' : 'table',
    comment,
    key,
    references: references ?? [],
    columns: columns.map((column) => ({ ...column, values: column.values ?? null })),
  }))
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
  expect(relations.toSorted(byName)).toEqual(declared.toSorted(byName))
})

test('every link of the dictionary leads to one of its headings', () => {
  const page = schemaAsMarkdown()
  const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^a-z0-9_ -]/g, '')
      .replaceAll(' ', '-'),
  )
  const links = [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor)
  expect(new Set(links).size).toBe(RELATIONS.length)
  expect(links.filter((link) => !anchors.includes(link ?? ''))).toEqual([])
})

test('the page lists all columns of the views that most people read', () => {
  const [, section = ''] = schemaAsMarkdown().split('\n### needs_action\n')
  const listed = [...(section.split('\n### ')[0] ?? '').matchAll(/^\| (`.+?`) \|/gm)].flatMap(
    ([, names = '']) => names.split(', ').map((name) => name.replaceAll('`', '')),
  )
  expect(listed).toEqual(
    ALL_VIEWS.find(({ name }) => name === 'needs_action')?.columns.map(({ name }) => name),
  )
})

test('the dbt sources describe every table, view and column, and test keys, nulls and expected values', () => {
  const tables = dbtTables(schemaAsDbt())
  expect([...tables.keys()].sort()).toEqual(RELATIONS.map(fullName).sort())
  for (const relation of RELATIONS) {
    const table = tables.get(fullName(relation))
    expect(table?.description).toBe(relation.comment)
    expect(table?.columns.map(({ name, description, data_type }) => [name, description, data_type])).toEqual(
      relation.columns.map(({ name, comment, type }) => [name, comment, type]),
    )
    for (const column of relation.columns) {
      const tests = table?.columns.find(({ name }) => name === column.name)?.data_tests
      expect(tests?.includes('not_null'), `${relation.name}.${column.name}`).toBe(!column.nullable)
      const accepted = { arguments: { values: column.values }, config: { severity: 'warn' } }
      expect(tests?.filter((one) => one !== 'not_null')).toEqual(
        column.values === undefined ? [] : [{ accepted_values: accepted }],
      )
    }
  }
})

test('dbt tests a key or reference of several columns as one text', () => {
  const tables = dbtTables(schemaAsDbt())
  expect(tables.get('main.sample_source_progress')?.data_tests).toEqual([
    {
      unique: {
        name: 'fieldwork_sample_source_progress_key_is_unique',
        arguments: { column_name: "concat_ws('|', account, survey_id, sample_source_id)" },
      },
    },
    {
      relationships: {
        name: 'fieldwork_sample_source_progress_belong_to_sample_sources',
        arguments: {
          column_name: "concat_ws('|', account, survey_id, sample_source_id)",
          to: "source('fieldwork', 'sample_sources')",
          field: "concat_ws('|', account, survey_id, id)",
        },
      },
    },
  ])
  expect(tables.get('main.surveys_history')?.data_tests[0]).toMatchObject({
    unique: { arguments: { column_name: "concat_ws('|', account, id, epoch_us(valid_from))" } },
  })
  expect(tables.get('_sync.drift_events')?.data_tests[0]).toMatchObject({
    unique: {
      arguments: {
        column_name: "concat_ws('|', account, resource, path, coalesce(cast(value as varchar), ''), kind)",
      },
    },
  })
  expect(tables.get('main.freshness')?.config).toEqual({
    loaded_at_field: 'refreshed_at',
    freshness: { warn_after: { count: 36, period: 'hour' } },
  })
})

test('the command prints the dictionary by default, and another format on request', async () => {
  const [plain, json, misspelt, both] = await Promise.all([
    runWarm(['schema']),
    runWarm(['schema', '--json']),
    runWarm(['schema', '--format', 'markdwon']),
    runWarm(['schema', '--format', 'dbt', '--json']),
  ])
  expect(plain).toMatchObject({ code: 0, stdout: schemaAsMarkdown(), stderr: '' })
  expect(json).toMatchObject({ code: 0, stdout: schemaAsJson() })
  expect(misspelt).toMatchObject({ code: 2, stdout: '' })
  expect(misspelt.stderr).toContain(
    '--format must be one of sql, markdown, json, dbt: did you mean markdown?',
  )
  expect(both.code).toBe(2)
  expect(JSON.parse(both.stdout)).toMatchObject({ error: { code: 'usage' } })
})
