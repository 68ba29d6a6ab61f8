/** Every observed change of a survey or a sample source. */
import { expect, test } from 'vitest'
import type { Instant } from '../../../../src/model/instant.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { instantOf, minute } from '../../../support/time/instants.js'
import { query } from '../../../support/warehouse/duckdb.js'
import { bundle, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

const at = (day: number, hour = 2): Instant => minute((day - 1) * 1440 + hour * 60)

const CHANGES = `SELECT account, survey_id, sample_source_id, strftime(timezone('UTC', observed_at), '%d %H:%M'),
  kind, field, from_value, to_value FROM record_changes ORDER BY ALL NULLS FIRST`

test('record_changes has a row for each changed field, and for each record that was missing or returned', async () => {
  const { account, database, directory, rows } = await testWarehouse()
  const created = instantOf('2026-02-01T10:00:00.25Z')
  await list(account, [survey(1), survey(2)], at(1), 'full')
  await account.commitBundles([bundle(1, at(1), [source(11), source(12)], progress(1))], RUN)
  // Only updated_at: no row. Then three fields at once, one of them a time.
  await list(account, [survey(1, { updated_at: at(2) })], at(2))
  await account.commitBundles([bundle(1, at(2), [source(11), source(12)], progress(1))], RUN)
  const changed = { title: "It's new", project_id: 'P', created_at: created, updated_at: at(3) }
  await list(account, [survey(1, changed)], at(3))
  await account.commitBundles(
    [
      bundle(
        1,
        at(3),
        [source(11, { sample_size: 120, panelist_id_required: true, updated_at: at(3) })],
        progress(1),
      ),
    ],
    RUN,
  )
  // Survey 1 goes with its source, comes back with another title, and goes again. Survey 2 goes at the same time and stays away.
  for (const surveyId of [1, 2]) await account.commitBundles([{ kind: 'gone', surveyId, at: at(4) }], RUN)
  await list(account, [survey(1, { ...changed, title: 'Back', _extra: '{"mood":"good"}' })], at(6, 1))
  await account.commitBundles(
    [bundle(1, at(6), [source(11, { sample_size: 120, panelist_id_required: true })], progress(1))],
    RUN,
  )
  await account.commitBundles([{ kind: 'gone', surveyId: 1, at: at(7) }], RUN)
  // Another account has the same ids.
  await list(accountWarehouse(database, 'bolt'), [survey(1)], at(5), 'full')
  const found = (all: Awaited<ReturnType<typeof rows>>) => all.map((row) => Object.values(row))
  const expected = [
    [
      'acme',
      1,
      null,
      '03 02:00',
      'changed',
      'created_at',
      '2025-12-21 13:21:00+00',
      '2026-02-01 10:00:00.25+00',
    ],
    ['acme', 1, null, '03 02:00', 'changed', 'project_id', null, 'P'],
    ['acme', 1, null, '03 02:00', 'changed', 'title', 'Survey 1', "It's new"],
    ['acme', 1, null, '04 02:00', 'missing', null, null, null],
    ['acme', 1, null, '06 01:00', 'changed', '_extra', null, '{"mood":"good"}'],
    ['acme', 1, null, '06 01:00', 'changed', 'title', "It's new", 'Back'],
    ['acme', 1, null, '06 01:00', 'returned', null, null, null],
    ['acme', 1, null, '07 02:00', 'missing', null, null, null],
    ['acme', 1, 11, '03 02:00', 'changed', 'panelist_id_required', 'false', 'true'],
    ['acme', 1, 11, '03 02:00', 'changed', 'sample_size', '100', '120'],
    ['acme', 1, 11, '04 02:00', 'missing', null, null, null],
    ['acme', 1, 11, '06 02:00', 'returned', null, null, null],
    ['acme', 1, 11, '07 02:00', 'missing', null, null, null],
    ['acme', 1, 12, '03 02:00', 'missing', null, null, null],
    ['acme', 2, null, '04 02:00', 'missing', null, null, null],
  ]
  expect(found(await rows(CHANGES))).toEqual(expected)
  // Times are text in UTC for readers in every time zone.
  await database.close()
  const inTokyo = await query(`${directory}/work.duckdb`, `SET TimeZone = 'Asia/Tokyo'; ${CHANGES}`)
  expect(found(inTokyo)).toEqual(expected)
})

test('a first load adds nothing, whenever it ends, and what was created after a first reading is added', async () => {
  const { account, database, expectRows } = await testWarehouse()
  const added = (expected: readonly unknown[][]) =>
    expectRows(
      `SELECT account, survey_id, sample_source_id FROM record_changes WHERE kind = 'added' ORDER BY ALL NULLS FIRST`,
      expected as never,
    )
  const created = (day: number, hour: number) => ({ created_at: at(day, hour) })
  // A budget ends the first night before the second survey is read, and before the third is listed.
  await list(account, [survey(1), survey(2)], at(1), 'full')
  // Sources of the first are created in the second in which it is read, and a second later.
  const sources = [source(11, { created_at: at(1) - 1_000_000n }), source(12, { created_at: at(1) })]
  await account.commitBundles([bundle(1, at(1) + 1_000_000n, sources, progress(1))], RUN)
  await list(account, [survey(3)], at(2))
  const waiting = source(21, created(1, 12))
  await account.commitBundles(
    [bundle(2, at(2), [waiting], progress(1)), bundle(3, at(2), [source(31)], progress(1))],
    RUN,
  )
  await added([])
  // Another account comes later.
  const other = accountWarehouse(database, 'bolt')
  await list(other, [survey(1)], at(3), 'full')
  await other.commitBundles([bundle(1, at(3), [source(11)], progress(1))], RUN)
  await added([])
  // A survey with its source, and a source of a known survey.
  await list(account, [survey(4, created(3, 12))], at(4))
  await account.commitBundles(
    [
      bundle(4, at(4) + 1_000_000n, [source(41, created(3, 13))], progress(1)),
      bundle(2, at(4), [waiting, source(22, created(3, 12))], progress(2)),
    ],
    RUN,
  )
  await added([
    ['acme', 2, 22],
    ['acme', 4, null],
  ])
})
