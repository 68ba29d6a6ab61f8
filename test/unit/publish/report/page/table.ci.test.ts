/** A page of a thousand surveys, and of thousands of accounts: each list shows what is most urgent, and says what it leaves out. */
import { expect, test } from 'vitest'
import { readReport } from '../../../../../src/publish/report/read.js'
import { renderReport } from '../../../../../src/publish/report/render.js'
import { DEFAULTS } from '../../../../support/settings/settings-from-yaml.js'
import { minute } from '../../../../support/time/instants.js'
import { bundle, list, progress, RUN, source, survey } from '../../../../support/warehouse/rows.js'
import { testWarehouse } from '../../../../support/warehouse/warehouse.js'

const SURVEYS = 1_000

/** The text of each row of the tables or lists of a query, without tags. */
const rowsIn = (html: string, query: string): readonly string[] =>
  [...html.matchAll(new RegExp(`data-query="${query}".*?</(?:table|ol)>`, 'gs'))]
    .flatMap(([part]) => part.split(/<tr>|<summary>/).filter((row) => /<td|<span/.test(row)))
    .map((row) => row.replaceAll(/<[^>]*>/g, ' '))

test('a page of 1,000 surveys in the field is below 3 MB, with the most urgent ones in every list', async () => {
  const { account, database, run } = await testWarehouse()
  await list(account, [survey(1, { title: 'Brand tracker, wave 17, and its boost' })], minute(0), 'full')
  const sources = [0, 1, 2, 3, 4].map((place) => source(100 + place, { sample_size: 20 }))
  for (const night of [0, 1, 2, 3])
    await account.commitBundles(
      [bundle(1, minute(night * 1440 + 840), sources, progress(10 + 5 * night, { sample_size: 100 }))],
      RUN,
    )
  const copy = (table: string, replaced: string) =>
    run(
      `INSERT INTO ${table} SELECT t.* REPLACE (${replaced}) FROM ${table} t, range(2, ${SURVEYS + 1}) r(i)`,
    )
  for (const table of ['surveys', 'surveys_history']) await copy(table, "i AS id, title || ' ' || i AS title")
  for (const table of ['survey_progress', 'survey_progress_history', 'freshness'])
    await copy(table, 'i AS survey_id')
  for (const table of ['sample_sources', 'sample_sources_history'])
    await copy(table, 'i AS survey_id, 100 * i + id AS id')
  // The last 350 are paused, which needs action today.
  await run(`UPDATE surveys SET status = 'deviating_from_specs' WHERE id > ${SURVEYS - 350}`)
  const rows = await database.transaction(readReport)
  expect(new Set(rows.needsAction.map(({ survey_id }) => survey_id)).size).toBe(350)
  const { html } = renderReport(rows, { ...DEFAULTS.report, locale: 'en' })
  expect(Buffer.byteLength(html)).toBeLessThan(3_000_000)
  for (const query of ['needs-action', 'in-field']) {
    const shown = rowsIn(html, query)
    expect([query, shown.length]).toEqual([query, 300])
    expect(shown.filter((text) => !text.includes('paused'))).toEqual([])
  }
  expect(html).toContain('350 surveys need action.')
  expect(html).toContain('The first 300 of 350.')
  expect(html).toContain('The most urgent 300 of 1,000.')
})

test('a page of 2,000 accounts names the first ones, and counts the others', async () => {
  const { account, database, run } = await testWarehouse()
  await list(account, [survey(1)], minute(0), 'full')
  await run(`INSERT INTO freshness SELECT f.* REPLACE ('acme' || i AS account, listed_at - INTERVAL 2 HOURS AS listed_at)
    FROM freshness f, range(1, 2_001) r(i)`)
  await run(`INSERT INTO _sync.runs BY NAME SELECT 'run-' || i AS run_id, 'acme' || i AS account, '0.1.0' AS version, 'sync' AS command,
      i AS run_number, TIMESTAMPTZ '2026-03-01 02:00:00Z' AS started_at, started_at AS ended_at, 'failed' AS status, 0 AS exit_code,
      1 AS requests, 0 AS retries, 0 AS rate_limited, 1 AS surveys_refreshed, 0 AS left_over, 0 AS rejected_rows FROM range(1, 2_001) r(i)`)
  const rows = await database.transaction(readReport)
  const { html } = renderReport(rows, { ...DEFAULTS.report, locale: 'en' })
  expect(rowsIn(html, 'runs')).toHaveLength(300)
  expect(html.match(/The last sync failed/g)).toHaveLength(12)
  expect(html).toContain('The same is true of 1,988 more accounts.')
  expect(Buffer.byteLength(html)).toBeLessThan(300_000)
})
