/**
 * A column is declared once: a new line in a table's fields appears in everything derived from it, with no other edit.
 * The test adds the line to a copy of the built command, and runs the copy on a warehouse of the unchanged command.
 */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { accountsOf, startWorld } from '../../support/api/reference-api.js'
import { start } from '../../support/command/command.js'
import { buildMutant } from '../../support/command/mutant.js'
import { publishedFile, sync, withSettings } from '../../support/command/sync.js'
import { dbtTables } from '../../support/dbt/dbt-sources.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { unsoundness } from '../../support/oracle/soundness.js'
import { query } from '../../support/warehouse/duckdb.js'

const COMMENT = 'Language that the questionnaire is written in'
const RELATIONS = [
  '_sync.pending_surveys',
  'main.survey_overview',
  'main.survey_periods',
  'main.surveys',
  'main.surveys_history',
]

test('a column that is added to a declaration appears in DDL, comments, dictionary, JSON, dbt sources, views and Parquet', async () => {
  const hashid = "hashid: varchar('Identifier of the survey used in URLs'),"
  const main = await buildMutant({
    file: 'model/fields.js',
    from: hashid,
    to: `${hashid} language: { ...varcharOf(['fr', 'en'], '${COMMENT}'), nullable: true },`,
  })
  const comment = `${COMMENT}: fr or en`
  const [sql, markdown, json, dbt] = await Promise.all(
    ['sql', 'markdown', 'json', 'dbt'].map(async (format) => {
      const { code, stdout } = await start(['schema', '--format', format], {}, main).ended
      expect(code).toBe(0)
      return stdout
    }),
  )
  expect(sql?.match(/^ {2}"language" VARCHAR COLLATE C,$/gm)).toHaveLength(3)
  for (const relation of RELATIONS)
    expect(sql?.replaceAll('"', '')).toContain(`COMMENT ON COLUMN ${relation}.language IS '${comment}'`)
  // The dictionary describes a column where it stands first.
  expect(markdown?.split(`| \`language\` | VARCHAR? | ${comment} |`)).toHaveLength(2)
  expect(json?.split(`"comment": "${comment}"`)).toHaveLength(RELATIONS.length + 1)
  const described = [...dbtTables(dbt ?? '')].filter(([, { columns }]) =>
    columns.some(({ name }) => name === 'language'),
  )
  expect(described.map(([name]) => name).sort()).toEqual(RELATIONS)
  expect(described[0]?.[1].columns.find(({ name }) => name === 'language')).toEqual({
    name: 'language',
    description: comment,
    data_type: 'VARCHAR',
    data_tests: [{ accepted_values: { arguments: { values: ['fr', 'en'] }, config: { severity: 'warn' } } }],
  })

  const warehouse = await temporaryDirectory()
  await using server = await startWorld({ seed: 3, surveys: 8 })
  const args = await withSettings({
    ...accountsOf(server),
    publish: ['duckdb', 'parquet'],
  })
  expect(await sync({ warehouse, env: {}, args })).toMatchObject({ code: 0 })
  const published = publishedFile(warehouse)
  const languageColumns = `SELECT DISTINCT schema_name || '.' || table_name AS name, data_type AS type, comment FROM duckdb_columns()
    WHERE database_name = current_database() AND column_name = 'language' ORDER BY ALL`
  const rowsBefore = await query(published, 'SELECT * FROM surveys ORDER BY id')
  expect(await query(published, languageColumns)).toEqual([])

  const again = await sync({ warehouse, env: {}, args: [...args, '--full'], main })
  expect(again).toMatchObject({
    code: 0,
    run: { rows_by_table: { surveys: { added: 0, changed: 0, unchanged: 8 } } },
  })
  expect(await query(published, languageColumns)).toEqual(
    RELATIONS.map((name) => ({ name, type: 'VARCHAR', comment })),
  )
  expect(await query(published, 'SELECT * FROM surveys ORDER BY id')).toEqual(
    rowsBefore.map((row) => ({ ...row, language: null })),
  )
  expect(await unsoundness(published)).toEqual([])
  const files = join(warehouse, 'parquet/current/surveys/**/*.parquet')
  expect(
    await query(
      published,
      `SELECT count(DISTINCT file_name) = (SELECT count(*) FROM glob('${files}')) AS everywhere
        FROM parquet_schema('${files}') WHERE name = 'language'`,
    ),
  ).toEqual([{ everywhere: true }])
  expect(
    await query(published, `SELECT language, count(*) AS surveys FROM read_parquet('${files}') GROUP BY ALL`),
  ).toEqual([{ language: null, surveys: 8 }])
})
