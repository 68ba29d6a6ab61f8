/** Many rows are appended in chunks, few as single cells. Both keep every value. */
import { describe, expect, test } from 'vitest'
import { surveyProgressByDay, surveys } from '../../../../src/model/tables.js'
import type { CellRow } from '../../../../src/model/warehouse.js'
import { progress, survey } from '../../../support/warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

const TEXTS = ['', 'a\u0000b', "it's; -- $1", '\ufeffmark', 'd\u{1F600}e\u0301\u202E', 'x'.repeat(5_000)]

const surveyRow = (id: number): CellRow => ({
  account: 'acme',
  ...survey(id, {
    title: TEXTS[id % TEXTS.length] ?? '',
    project_id: id % 3 === 0 ? null : `p${id}`,
    created_at: id % 2 === 0 ? -1_815_346_676_999_999n : 9_223_372_036_854_775n,
    owner_organization_id: id % 5 === 0 ? Number.MAX_SAFE_INTEGER : -id,
    _extra: id % 4 === 0 ? '{"a":"\\u0000"}' : null,
  }),
  _first_seen_at: 1n,
  _synced_at: BigInt(id),
})

const dayRow = (id: number): CellRow => ({
  account: 'acme',
  survey_id: id,
  sample_source_id: id % 2 === 0 ? null : id,
  day: `2026-03-${String((id % 28) + 1).padStart(2, '0')}`,
  time_zone: 'UTC',
  is_final: id % 3 === 0,
  started_after: 0n,
  started_before: 86_400_000_000n,
  ...progress(id, { completion_rate: [0.1 + 0.2, 5e-324, 1 / 3, null][id % 4] ?? null }),
  _first_seen_at: 1n,
  _observed_at: 2n,
})

const stored = (warehouse: TestWarehouse, table: string) =>
  warehouse.rows(`SELECT * FROM ${table} ORDER BY ALL`)

describe.each([
  ['surveys', 'id', surveys, surveyRow],
  ['survey_progress_by_day', 'survey_id', surveyProgressByDay, dayRow],
])('%s', (name, key, table, row) => {
  // 16 rows and more are chunks, and 2,048 are the largest chunk.
  test.each([16, 2_049])('%d rows at once are stored as the same rows one by one', async (count) => {
    const warehouse = await testWarehouse()
    await warehouse.run(`CREATE TABLE one_by_one AS FROM ${name} LIMIT 0`)
    const rows = Array.from({ length: count }, (_, id) => row(id + 1))
    // Single cells take long. These rows have every combination of values, and both sides of the end of a chunk.
    const single = rows.filter((_, place) => place < 60 || place >= 2_040)
    await warehouse.database.transaction(async (sql) => {
      await sql.insert(table, rows)
      for (let from = 0; from < single.length; from += 15)
        await sql.insert({ ...table, name: 'one_by_one' }, single.slice(from, from + 15))
    })
    await warehouse.expectRows(`SELECT count(DISTINCT ${key}) FROM ${name}`, [[count]])
    const same = await stored(warehouse, `${name} SEMI JOIN one_by_one USING (${key})`)
    expect(same).toHaveLength(single.length)
    expect(same).toEqual(await stored(warehouse, 'one_by_one'))
  })
})

test.each([1, 300])('a cell of another type is a bug: none of %d rows is stored', async (count) => {
  const warehouse = await testWarehouse()
  const rows = Array.from({ length: count }, (_, id) => ({ ...surveyRow(id + 1), title: 5 }))
  await expect(warehouse.database.transaction((sql) => sql.insert(surveys, rows))).rejects.toThrow(
    'column title is VARCHAR and cannot hold a number',
  )
  expect(await stored(warehouse, 'surveys')).toEqual([])
})
