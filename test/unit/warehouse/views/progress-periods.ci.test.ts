/** History as step functions: how long each reading is known to hold, and what each day shows. */
import { expect, onTestFinished, test } from 'vitest'
import type { Instant } from '../../../../src/model/instant.js'
import type { AccountWarehouse } from '../../../../src/model/warehouse.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { ALL_VIEWS } from '../../../../src/warehouse/views/all.js'
import { hourOf as at } from '../../../support/time/instants.js'
import { query } from '../../../support/warehouse/duckdb.js'
import {
  begin,
  bundle,
  commitPage,
  failedTask,
  list,
  progress,
  RUN,
  rejection,
  source,
  survey,
} from '../../../support/warehouse/rows.js'
import { sharedWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const read = (account: AccountWarehouse, surveys: number | number[], when: Instant, complete: number) =>
  account.commitBundles(
    [surveys].flat().map((id) => bundle(id, when, [source(id * 10)], progress(complete))),
    RUN,
  )

const gone = (account: AccountWarehouse, surveyId: number, when: Instant) =>
  account.commitBundles([{ kind: 'gone', surveyId, at: when }], RUN)

const DAILY = `SELECT account, survey_id, strftime("day", '%d') AS "day", interviews_count AS held,
  strftime(timezone('UTC', observed_at), '%d %H:%M') AS observed
  FROM progress_daily d ORDER BY account, survey_id, d."day"`

const PERIODS = `SELECT survey_id, interviews_count AS held, strftime(timezone('UTC', observed_at), '%d %H:%M') AS observed,
  strftime(timezone('UTC', ended_at), '%d %H:%M') AS ended, strftime(timezone('UTC', confirmed_until), '%d %H:%M') AS known`

test('an empty warehouse has no rows in any view', async () => {
  const { rows, run } = await emptyWarehouse()
  // To optimize a statement takes longer than to run it on no rows.
  await run('PRAGMA disable_optimizer')
  onTestFinished(() => run('PRAGMA enable_optimizer'))
  for (const { name } of ALL_VIEWS) expect(await rows(`SELECT * FROM ${name}`), name).toEqual([])
  expect(ALL_VIEWS.length).toBeGreaterThan(7)
})

test('indicators hold until the next ones were read, and the current ones until their last confirmation', async () => {
  const { account, cells } = await emptyWarehouse()
  await list(account, [survey(1)], at(1, 9), 'full')
  await read(account, 1, at(1, 10), 5)
  await read(account, 1, at(2, 10), 5)
  await read(account, 1, at(4, 9), 8)
  await read(account, 1, at(4, 18), 9)
  await read(account, 1, at(5, 23), 9)
  expect(await cells(`${PERIODS} FROM survey_progress_periods ORDER BY observed_at`)).toEqual([
    [1, 5, '01 10:00', '04 09:00', '04 09:00'],
    [1, 8, '04 09:00', '04 18:00', '04 18:00'],
    [1, 9, '04 18:00', null, '05 23:00'],
  ])
  expect(await cells(DAILY)).toEqual([
    // A reading in the morning belongs to the day before. The reading of day 1 was found equal, and day 2 was not read.
    ['acme', 1, '28', 5, '01 10:00'],
    ['acme', 1, '01', 5, '01 10:00'],
    ['acme', 1, '03', 8, '04 09:00'],
    ['acme', 1, '04', 9, '04 18:00'],
    ['acme', 1, '05', 9, '04 18:00'],
  ])
})

test('a survey that was missing for a time has no progress in between, and each account has its own rows', async () => {
  const { account, database, cells } = await emptyWarehouse()
  const other = accountWarehouse(database, 'bolt')
  await list(account, [survey(1)], at(1, 9), 'full')
  await list(other, [survey(1)], at(1, 9), 'full')
  await read(account, 1, at(1, 10), 5)
  await read(other, 1, at(3, 10), 70)
  await gone(account, 1, at(2, 12))
  await list(account, [survey(1)], at(5, 6))
  await read(account, 1, at(5, 7), 5)
  await read(account, 1, at(6, 7), 5)
  await read(account, 1, at(7, 7), 9)
  await read(account, 1, at(7, 8), 8)
  expect(await cells(DAILY)).toEqual([
    ['acme', 1, '28', 5, '01 10:00'],
    ['acme', 1, '04', 5, '05 07:00'],
    ['acme', 1, '05', 5, '05 07:00'],
    ['acme', 1, '06', 9, '07 07:00'],
    ['acme', 1, '07', 8, '07 08:00'],
    ['bolt', 1, '02', 70, '03 10:00'],
  ])
  // A gain is since the known day before, whatever else the query selects.
  expect(await cells('SELECT gained FROM progress_daily WHERE account = \'acme\' ORDER BY "day"')).toEqual([
    [null],
    [0],
    [0],
    [4],
    [-1],
  ])
  expect(await cells(`SELECT gained FROM progress_daily WHERE "day" = '2026-03-06'`)).toEqual([[4]])
  // The same of its source.
  expect(
    await cells(`SELECT name, strftime("day", '%d'), interviews_count, gained FROM source_progress_daily
      WHERE account = 'acme' ORDER BY "day"`),
  ).toEqual([
    ['S10', '28', 5, null],
    ['S10', '04', 5, 0],
    ['S10', '05', 5, 0],
    ['S10', '06', 9, 4],
    ['S10', '07', 8, -1],
  ])
  expect(
    await cells(`${PERIODS} FROM sample_source_progress_periods WHERE account = 'acme' ORDER BY observed_at`),
  ).toEqual([
    [1, 5, '01 10:00', '02 12:00', '02 12:00'],
    [1, 5, '05 07:00', '07 07:00', '07 07:00'],
    [1, 9, '07 07:00', '07 08:00', '07 08:00'],
    [1, 8, '07 08:00', null, '07 08:00'],
  ])
  const versions = `strftime(timezone('UTC', valid_from), '%d %H:%M'), strftime(timezone('UTC', valid_to), '%d %H:%M'),
    strftime(timezone('UTC', confirmed_until), '%d %H:%M')`
  expect(await cells(`SELECT account, ${versions} FROM survey_periods ORDER BY account, valid_from`)).toEqual(
    [
      ['acme', '01 09:00', '02 12:00', '02 12:00'],
      ['acme', '05 06:00', null, '05 06:00'],
      ['bolt', '01 09:00', null, '01 09:00'],
    ],
  )
  expect(
    await cells(`SELECT account, ${versions} FROM sample_source_periods ORDER BY account, valid_from`),
  ).toEqual([
    ['acme', '01 10:00', '02 12:00', '02 12:00'],
    ['acme', '05 07:00', null, '07 08:00'],
    ['bolt', '03 10:00', null, '03 10:00'],
  ])
})

test('the progress of a survey that is gone for good is known up to its last reading', async () => {
  const { account, cells } = await emptyWarehouse()
  await list(account, [survey(1), survey(2)], at(1, 9), 'full')
  await read(account, 1, at(1, 10), 5)
  await read(account, 2, at(1, 10), 6)
  await gone(account, 1, at(2, 12))
  await gone(account, 2, at(3, 0))
  await gone(account, 2, at(4, 0))
  expect(await cells(DAILY)).toEqual([
    ['acme', 1, '28', 5, '01 10:00'],
    ['acme', 2, '28', 6, '01 10:00'],
  ])
})

test('the periods of a source end when it leaves its survey, though the survey continues', async () => {
  const { account, cells } = await emptyWarehouse()
  await account.commitBundles([bundle(1, at(1, 10), [source(10), source(11)], progress(5))], RUN)
  await account.commitBundles([bundle(1, at(2, 10), [source(10)], progress(5))], RUN)
  await account.commitBundles([bundle(1, at(3, 10), [source(10), source(11)], progress(5))], RUN)
  expect(
    await cells(
      `${PERIODS}, sample_source_id FROM sample_source_progress_periods ORDER BY sample_source_id, observed_at`,
    ),
  ).toEqual([
    [1, 5, '01 10:00', null, '03 10:00', 10],
    [1, 5, '01 10:00', '02 10:00', '02 10:00', 11],
    [1, 5, '03 10:00', null, '03 10:00', 11],
  ])
})

test('a reading at midnight belongs to the day that ends then', async () => {
  const { account, cells } = await emptyWarehouse()
  await read(account, [1, 2], at(1, 0), 5)
  await read(account, 1, at(3, 0), 5)
  await read(account, 2, at(3, 0), 6)
  await list(account, [survey(3)], at(1, 9))
  await read(account, 3, at(2, 0), 7)
  await gone(account, 3, at(2, 0))
  expect(await cells(DAILY)).toEqual([
    // It was found equal two days later, so on the day between too.
    ['acme', 1, '28', 5, '01 00:00'],
    ['acme', 1, '01', 5, '01 00:00'],
    ['acme', 1, '02', 5, '01 00:00'],
    ['acme', 2, '28', 5, '01 00:00'],
    ['acme', 2, '02', 6, '03 00:00'],
    ['acme', 3, '01', 7, '02 00:00'],
  ])
})

test('a skipped source is confirmed until its last reading, and a failed or untyped reading confirms nothing', async () => {
  const { account, cells } = await emptyWarehouse()
  const skipped = { sourceProgress: [], sourceProgressRead: 'unchanged' } as const
  await read(account, [1, 2, 3, 4], at(1, 10), 5)
  const untyped = { ...skipped, sourceProgressRead: 'some', listedSourceIds: [30] } as const
  const rejections = [
    rejection({ endpoint: 'fieldwork_progress', surveyId: 3 }),
    rejection({ endpoint: 'sample_sources', surveyId: 3, sampleSourceId: 30, rowId: 30 }),
  ]
  // The unreadable id may belong to any source of survey 4.
  const unreadable = rejection({ endpoint: 'sample_sources', surveyId: 4 })
  const unread = { ...skipped, listedSourceIds: null, rejections: [unreadable] }
  await account.commitBundles(
    [
      bundle(1, at(2, 10), [source(10)], progress(5), skipped),
      failedTask(2, at(2, 10)),
      bundle(3, at(2, 10), [], null, { ...untyped, rejections }),
      bundle(4, at(2, 10), [], progress(5), unread),
    ],
    RUN,
  )
  const known = (view: string) =>
    cells(
      `SELECT survey_id, strftime(timezone('UTC', confirmed_until), '%d %H:%M') AS known FROM ${view} ORDER BY ALL`,
    )
  expect(await known('survey_progress_periods')).toEqual([
    [1, '02 10:00'],
    [2, '01 10:00'],
    [3, '01 10:00'],
    [4, '02 10:00'],
  ])
  expect(await known('sample_source_progress_periods')).toEqual([
    [1, '01 10:00'],
    [2, '01 10:00'],
    [3, '01 10:00'],
    [4, '01 10:00'],
  ])
  expect(await known('sample_source_periods')).toEqual([
    [1, '02 10:00'],
    [2, '01 10:00'],
    [3, '01 10:00'],
    [4, '01 10:00'],
  ])
})

test('a refused list of sources confirms nothing, also after a list with a row that could not be typed', async () => {
  const { account, cells } = await emptyWarehouse()
  await read(account, 1, at(1, 10), 5)
  const known = async () =>
    await cells(
      `SELECT id, strftime(timezone('UTC', confirmed_until), '%d %H:%M') FROM sample_source_periods ORDER BY ALL`,
    )
  const listed = { sourcesRead: 'some', listedSourceIds: [10, 11] } as const
  await account.commitBundles([bundle(1, at(2, 10), [source(10)], progress(5), listed)], RUN)
  expect(await known()).toEqual([[10, '02 10:00']])
  const refused = {
    unread: { error: 'its list of sources: 404', isRefused: true },
    sourcesRead: 'failed',
    listedSourceIds: null,
  } as const
  await account.commitBundles([bundle(1, at(3, 10), [], progress(6), refused)], RUN)
  expect(await known()).toEqual([[10, '02 10:00']])
  await account.commitBundles([failedTask(1, at(4, 10))], RUN)
  expect(await known()).toEqual([[10, '02 10:00']])
  // The list is read. The progress of one source is refused.
  const inPart = { unread: { error: 'source 11: 404', isRefused: true }, ...listed }
  await account.commitBundles([bundle(1, at(5, 10), [source(10)], progress(6), inPart)], RUN)
  expect(await known()).toEqual([[10, '05 10:00']])
})

test('a survey row is confirmed until its last listing, or until the first reading of a pending change', async () => {
  const { account, cells } = await emptyWarehouse()
  await list(account, [survey(1), survey(2), survey(3)], at(1, 9), 'full')
  await read(account, [1, 2, 3], at(1, 10), 5)
  await begin(account, at(2, 9), 'incremental')
  await commitPage(account, [survey(1), survey(2, { title: 'Renamed' })], at(2, 9), {
    kind: 'incremental',
    rejections: [rejection({ surveyId: 3, rowId: 3 })],
  })
  await list(account, [survey(1), survey(2, { title: 'Renamed' })], at(3, 9))
  const known = `SELECT id, title, strftime(timezone('UTC', confirmed_until), '%d %H:%M') AS known FROM survey_periods
    ORDER BY id, valid_from`
  expect(await cells(known)).toEqual([
    [1, 'Survey 1', '03 09:00'],
    [2, 'Survey 2', '02 09:00'],
    [3, 'Survey 3', '01 09:00'],
  ])
  await read(account, 2, at(3, 10), 5)
  expect(await cells(`${known} LIMIT 2 OFFSET 1`)).toEqual([
    [2, 'Survey 2', '02 09:00'],
    [2, 'Renamed', '03 09:00'],
  ])
})

test('days are the same for readers in every time zone', async () => {
  const { account, database, directory, rows } = await testWarehouse()
  await read(account, 1, at(1, 20), 5)
  await read(account, 1, at(3, 2), 6)
  const inUtc = await rows(
    'SELECT "day"::VARCHAR AS "day", interviews_count, observed_at FROM progress_daily ORDER BY ALL',
  )
  expect(inUtc.map(({ day }) => day)).toEqual(['2026-03-01', '2026-03-02'])
  await database.close()
  const file = `${directory}/work.duckdb`
  expect(
    await query(
      file,
      `SET TimeZone = 'Asia/Tokyo'; SELECT "day"::VARCHAR AS "day", interviews_count, observed_at FROM progress_daily ORDER BY ALL`,
    ),
  ).toEqual(inUtc)
})
