/**
 * A counter of the run is declared once: it is one line in the run record and one line that counts. The test adds both to a
 * copy of the built command. The runs of the copy store, report and document the counter, with no other edit.
 */
import { expect, test } from 'vitest'
import { scriptedSurvey, startScriptedApi } from '../../support/api/scripted-api.js'
import { start } from '../../support/command/command.js'
import { buildMutant } from '../../support/command/mutant.js'
import { publishedFile, sync, syncWarm } from '../../support/command/sync.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { query } from '../../support/warehouse/duckdb.js'

const COMMENT = 'Pages of the listing that were committed'
const FIELD = "historyRowsCompacted: shown(counter('Old observations"
const COUNTING = 'counts.surveysListed += page.surveys.length;'

test('a counter that is added to the run record appears in its table, both reports and the data dictionary', async () => {
  const main = await buildMutant(
    {
      file: 'model/run-record.js',
      from: FIELD,
      to: `pagesListed: shown(counter('${COMMENT}'), 'pages', (pages) => counted(pages, 'page')), ${FIELD}`,
    },
    {
      file: 'sync/listing.js',
      from: COUNTING,
      to: `${COUNTING} counts.pagesListed += 1;`,
    },
  )
  const dictionary = await start(['schema', '--format', 'markdown'], {}, main).ended
  expect(dictionary.stdout).toContain(`| \`pages_listed\` | BIGINT? | ${COMMENT} |`)

  const warehouse = await temporaryDirectory()
  const { env } = await startScriptedApi([scriptedSurvey(1), scriptedSurvey(2)])
  const before = await syncWarm({ warehouse, env })
  expect(before.code).toBe(0)
  expect(before.run).not.toHaveProperty('pages_listed')
  expect((await sync({ warehouse, env, main })).run).toMatchObject({ exit_code: 0, pages_listed: 1 })
  const { code, stdout } = await start(['sync'], { ...env, FIELDWORK_SYNC_WAREHOUSE: warehouse }, main).ended
  expect(code).toBe(0)
  expect(stdout).toMatch(/^pages {6}1 page$/m)

  const published = publishedFile(warehouse)
  expect(await query(published, 'SELECT pages_listed FROM _sync.runs ORDER BY started_at')).toEqual([
    { pages_listed: null },
    { pages_listed: 1 },
    { pages_listed: 1 },
  ])
  expect(
    await query(
      published,
      `SELECT schema_name || '.' || table_name AS name, data_type AS type, comment FROM duckdb_columns()
        WHERE column_name = 'pages_listed'`,
    ),
  ).toEqual([{ name: '_sync.runs', type: 'BIGINT', comment: COMMENT }])
})
