/** A row that the tables accept never costs the report, however little of it the page can show. */

import { expect, test } from 'vitest'
import { type ReportRows, readReport } from '../../../../src/publish/report/read.js'
import { renderReport } from '../../../../src/publish/report/render.js'
import { DEFAULTS } from '../../../support/settings/settings-from-yaml.js'
import { minute } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse, type TestWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const MOST = Number.MAX_SAFE_INTEGER

const pageOf = async ({ database }: TestWarehouse, shown: Partial<ReportRows> = {}) => {
  const rows = await database.transaction(readReport)
  return { rows, html: renderReport({ ...rows, ...shown }, { ...DEFAULTS.report, locale: 'en' }).html }
}

const NEW_STATUS = (individuals: string) =>
  `{"interview_count_by_status":{"new_status":{"individuals":${individuals},"percentage":1}}}`

test('what the page cannot show is named at its survey, a title of megabytes is cut, and the other surveys are whole', async () => {
  const warehouse = await emptyWarehouse()
  const surveys = [survey(1), survey(2), survey(3, { title: '😀'.repeat(500_000) })]
  await list(warehouse.account, surveys, minute(0), 'full')
  const unshown = { _extra: NEW_STATUS('1152921504606846976'), completion_rate: 1e300 }
  for (const night of [0, 1])
    await warehouse.account.commitBundles(
      surveys.map(({ id }) => {
        const read = { length_of_interview: 300 + night, ...(id === 1 ? unshown : {}) }
        return bundle(id, minute(night * 1440), [source(10 * id)], progress(10 + night, read))
      }),
      RUN,
    )
  const { rows, html } = await pageOf(warehouse)
  expect(rows.unshown).toEqual([
    { account: 'acme', survey_id: 1, fields: ['completion_rate', 'individuals'] },
    { account: 'acme', survey_id: 3, fields: ['title'] },
  ])
  expect(html).toContain('This page cannot show all of: completion rate, individuals.')
  expect(html).toContain('<a href="#acme/1"><bdi>survey 1</bdi></a> (completion rate, individuals)')
  expect(rows.inField.map(({ survey_id, completion_rate }) => [survey_id, completion_rate])).toEqual(
    expect.arrayContaining([
      [1, null],
      [2, 0.055],
      [3, 0.055],
    ]),
  )
  for (const id of [1, 2, 3]) expect(html).toContain(`id="acme/${id}"`)
  expect(Buffer.byteLength(html)).toBeLessThan(500_000)
})

test('totals beyond 2^53 are unknown, and the page says so', async () => {
  const warehouse = await emptyWarehouse()
  await list(warehouse.account, [survey(1)], minute(0), 'full')
  const most = progress(MOST, { sample_size: MOST, completion_rate: 1 })
  await warehouse.account.commitBundles([bundle(1, minute(0), [], most)], RUN)
  // The total of 1,100 such surveys exceeds 64 bits too. Committed one by one, they would take longer than the report.
  const copy = (table: string, id: string) =>
    warehouse.run(
      `INSERT INTO ${table} SELECT t.* REPLACE (i AS ${id}) FROM ${table} t, range(2, 1_101) r(i)`,
    )
  for (const table of ['surveys', 'surveys_history']) await copy(table, 'id')
  for (const table of ['survey_progress', 'survey_progress_history', 'freshness'])
    await copy(table, 'survey_id')
  // To render the tables of all surveys would take as long as to read them.
  const { rows, html } = await pageOf(warehouse, { inField: [], surveys: [] })
  expect(rows.totals[0]).toMatchObject({ surveys: 1_100, interviews_count: null })
  const fields = ['interviews_count', 'sample_size']
  expect(rows.unshown).toEqual([{ account: null, survey_id: null, fields }])
  expect(html).toContain('all surveys (interviews count, sample size)')
})
