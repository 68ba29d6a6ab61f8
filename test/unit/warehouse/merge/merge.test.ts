/** How bundles and listing pages change the tables: versions, history, missing marks, equal rows, values. */
import { describe, expect, test } from 'vitest'
import type { Progress } from '../../../../src/model/fields.js'
import type { RefreshedBundle } from '../../../../src/model/warehouse.js'
import { instantOf, minute } from '../../../support/time/instants.js'
import { bundle, failedTask, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse, storedBundle, type TestWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const DATA = ['surveys', 'sample_sources', 'survey_progress', 'sample_source_progress']
const TOUCHED_ONLY_BY_CHANGES = [...DATA, ...DATA.map((name) => `${name}_history`)]

/** Every row of the data tables with its rowid, which an update changes. */
const places = async (warehouse: TestWarehouse) =>
  Object.fromEntries(
    await Promise.all(
      TOUCHED_ONLY_BY_CHANGES.map(async (table) => [
        table,
        await warehouse.rows(`SELECT rowid AS place, * FROM ${table} ORDER BY rowid`),
      ]),
    ),
  )

const commit = (warehouse: TestWarehouse, ...bundles: RefreshedBundle[]) =>
  warehouse.account.commitBundles(bundles, RUN)

const history = (warehouse: TestWarehouse) =>
  warehouse.rows('SELECT title, valid_from, valid_to FROM surveys_history ORDER BY id, valid_from')

describe('an equal row', () => {
  test('changes no data row when it is read again, only freshness', async () => {
    const warehouse = await emptyWarehouse()
    const surveys = [survey(1, { _extra: '{"a":1}', project_id: 'p' }), survey(2)]
    const read = (at: bigint) => [
      bundle(1, at, [source(11), source(12, { _extra: '{"b":null}' })], progress(5, { _extra: '{"c":[]}' })),
      bundle(2, at, [], progress(0, { completion_rate: null })),
    ]
    await list(warehouse.account, surveys, minute(0), 'full')
    await commit(warehouse, ...read(minute(1)))
    await warehouse.run('CHECKPOINT')
    const before = await places(warehouse)
    const again = await list(warehouse.account, surveys, minute(100))
    expect((await warehouse.account.runFacts(RUN)).leftOver).toBe(0)
    const counts = await commit(warehouse, ...read(minute(101)))
    expect(await places(warehouse)).toEqual(before)
    expect(again).toEqual({ added: 0, changed: 0, unchanged: 2 })
    expect(counts).toEqual({
      surveys: { added: 0, changed: 0, unchanged: 0 },
      sample_sources: { added: 0, changed: 0, unchanged: 2 },
      survey_progress: { added: 0, changed: 0, unchanged: 2 },
      sample_source_progress: { added: 0, changed: 0, unchanged: 2 },
    })
    await warehouse.expectRows('SELECT survey_id, listed_at, refreshed_at FROM freshness ORDER BY 1', [
      [1, '2026-03-01T01:40:00Z', '2026-03-01T01:41:00Z'],
      [2, '2026-03-01T01:40:00Z', '2026-03-01T01:41:00Z'],
    ])
  })

  test('leaves the blocks of its table in place, so that a night without changes rewrites nothing', async () => {
    const warehouse = await emptyWarehouse()
    const surveys = Array.from({ length: 200 }, (_, index) =>
      survey(index + 1, { title: `${index} `.repeat(50) }),
    )
    const blocks = () =>
      warehouse.rows(
        "SELECT column_name, block_id, block_offset FROM pragma_storage_info('surveys') ORDER BY ALL",
      )
    await list(warehouse.account, surveys, minute(0), 'full')
    await warehouse.run('CHECKPOINT')
    const before = await blocks()
    await list(warehouse.account, surveys, minute(100))
    await warehouse.run('CHECKPOINT')
    expect(await blocks()).toEqual(before)
    expect(before.some(({ block_id }) => Number(block_id) >= 0)).toBe(true)
  })
})

describe('a changed survey', () => {
  test('that was never refreshed is merged at once, because it has no sources or progress yet', async () => {
    const warehouse = await emptyWarehouse()
    await list(warehouse.account, [survey(1)], minute(0), 'full')
    const result = await list(warehouse.account, [survey(1, { title: 'New' })], minute(10))
    expect(result).toEqual({ added: 0, changed: 1, unchanged: 0 })
    expect((await warehouse.account.runFacts(RUN)).leftOver).toBe(1)
    await warehouse.expectRows('SELECT title, _first_seen_at, _synced_at FROM surveys', [
      ['New', '2026-03-01T00:00:00Z', '2026-03-01T00:10:00Z'],
    ])
    await warehouse.expectRows('SELECT * FROM _sync.pending_surveys', [])
  })

  const refreshedOnce = async (): Promise<TestWarehouse> => {
    const warehouse = await emptyWarehouse()
    await list(warehouse.account, [survey(1)], minute(0), 'full')
    await commit(warehouse, bundle(1, minute(1), [source(11)], progress(5)))
    return warehouse
  }

  test('waits for its bundle, and appears together with the new sources and progress', async () => {
    const warehouse = await refreshedOnce()
    const overview = () =>
      warehouse.rows('SELECT title, status, interviews_count, sample_sources_count FROM survey_overview')
    const listed = await list(
      warehouse.account,
      [survey(1, { title: 'New', status: 'complete' })],
      minute(10),
    )
    expect(listed).toEqual({ added: 0, changed: 0, unchanged: 0 })
    expect((await warehouse.account.runFacts(RUN)).leftOver).toBe(1)
    expect(await overview()).toEqual([
      { title: 'Survey 1', status: 'fieldwork', interviews_count: 5, sample_sources_count: 1 },
    ])
    const counts = await commit(warehouse, bundle(1, minute(12), [source(11), source(12)], progress(9)))
    expect(counts.surveys).toEqual({ added: 0, changed: 1, unchanged: 0 })
    expect(await overview()).toEqual([
      { title: 'New', status: 'complete', interviews_count: 9, sample_sources_count: 2 },
    ])
    await warehouse.expectRows('SELECT * FROM _sync.pending_surveys', [])
    expect(await history(warehouse)).toEqual([
      { title: 'Survey 1', valid_from: '2026-03-01T00:00:00Z', valid_to: '2026-03-01T00:10:00Z' },
      { title: 'New', valid_from: '2026-03-01T00:10:00Z', valid_to: null },
    ])
  })

  test('keeps waiting when its task fails, and only its newest row is merged', async () => {
    const warehouse = await refreshedOnce()
    await list(warehouse.account, [survey(1, { title: 'Second' })], minute(10))
    await warehouse.account.commitBundles([failedTask(1, minute(11))], RUN)
    for (const at of [20, 25]) await list(warehouse.account, [survey(1, { title: 'Third' })], minute(at))
    await warehouse.expectRows('SELECT title FROM surveys', [['Survey 1']])
    await commit(warehouse, bundle(1, minute(26), [source(11)], progress(5)))
    expect(await history(warehouse)).toMatchObject([
      { title: 'Survey 1', valid_to: '2026-03-01T00:20:00Z' },
      { title: 'Third', valid_from: '2026-03-01T00:20:00Z', valid_to: null },
    ])
  })

  test('that changed back before its bundle was read counts as unchanged', async () => {
    const warehouse = await refreshedOnce()
    await list(warehouse.account, [survey(1, { title: 'New' })], minute(10))
    await list(warehouse.account, [survey(1)], minute(20))
    await warehouse.expectRows('SELECT * FROM _sync.pending_surveys', [])
    expect((await commit(warehouse, bundle(1, minute(21), [source(11)], progress(5)))).surveys?.changed).toBe(
      0,
    )
    expect(await history(warehouse)).toHaveLength(1)
  })
})

describe('versions are dated with the server’s time, each after the previous one', () => {
  test('at least a microsecond apart, even when its clock stood still or went back', async () => {
    const warehouse = await emptyWarehouse()
    await list(warehouse.account, [survey(1, { title: 'A' })], minute(10))
    await list(warehouse.account, [survey(1, { title: 'B' })], minute(10))
    await list(warehouse.account, [survey(1, { title: 'C' })], minute(5))
    await list(warehouse.account, [survey(1, { title: 'D' })], minute(20))
    expect(await history(warehouse)).toEqual([
      { title: 'A', valid_from: '2026-03-01T00:10:00Z', valid_to: '2026-03-01T00:10:00.000001Z' },
      { title: 'B', valid_from: '2026-03-01T00:10:00.000001Z', valid_to: '2026-03-01T00:10:00.000002Z' },
      { title: 'C', valid_from: '2026-03-01T00:10:00.000002Z', valid_to: '2026-03-01T00:20:00Z' },
      { title: 'D', valid_from: '2026-03-01T00:20:00Z', valid_to: null },
    ])
  })

  test('and each change of the indicators is an observation of its own', async () => {
    const warehouse = await emptyWarehouse()
    await list(warehouse.account, [survey(1)], minute(0), 'full')
    await commit(warehouse, bundle(1, minute(1), [], progress(1)))
    await commit(warehouse, bundle(1, minute(2), [], progress(1)))
    await commit(warehouse, bundle(1, minute(2), [], progress(2)))
    await commit(warehouse, bundle(1, minute(2), [], progress(3)))
    await commit(warehouse, bundle(1, minute(9), [], progress(1)))
    await warehouse.expectRows(
      'SELECT interviews_count, observed_at FROM survey_progress_history ORDER BY observed_at',
      [
        [1, '2026-03-01T00:01:00Z'],
        [2, '2026-03-01T00:02:00Z'],
        [3, '2026-03-01T00:02:00.000001Z'],
        [1, '2026-03-01T00:09:00Z'],
      ],
    )
    await warehouse.expectRows('SELECT interviews_count, _first_seen_at, _observed_at FROM survey_progress', [
      [1, '2026-03-01T00:01:00Z', '2026-03-01T00:09:00Z'],
    ])
  })
})

describe('records that the API no longer shows', () => {
  const marks = (warehouse: TestWarehouse) =>
    warehouse.rows(`SELECT 'survey' AS what, id, _missing_since FROM surveys
      UNION ALL SELECT 'source', id, _missing_since FROM sample_sources
      UNION ALL SELECT 'survey progress', survey_id, _missing_since FROM survey_progress
      UNION ALL SELECT 'source progress', sample_source_id, _missing_since FROM sample_source_progress ORDER BY ALL`)

  const refreshed = async (): Promise<TestWarehouse> => {
    const warehouse = await emptyWarehouse()
    await list(warehouse.account, [survey(1), survey(2)], minute(0), 'full')
    await commit(
      warehouse,
      bundle(1, minute(1), [source(11), source(12)], progress(5)),
      bundle(2, minute(1), [source(21)], progress(5)),
    )
    return warehouse
  }

  test('an unlisted source is marked with its progress and its version ends; both return with the source', async () => {
    const warehouse = await refreshed()
    await commit(warehouse, bundle(1, minute(10), [source(11)], progress(5)))
    expect((await marks(warehouse)).filter(({ _missing_since }) => _missing_since !== null)).toEqual([
      { what: 'source', id: 12, _missing_since: '2026-03-01T00:10:00Z' },
      { what: 'source progress', id: 12, _missing_since: '2026-03-01T00:10:00Z' },
    ])
    const stored = await storedBundle(warehouse.account, 1)
    expect(stored.sources.map(({ id }) => id)).toEqual([11])
    expect(stored.knownSourceIds).toEqual([11])

    await commit(warehouse, bundle(1, minute(15), [source(11)], progress(5)))
    const counts = await commit(warehouse, bundle(1, minute(20), [source(11), source(12)], progress(5)))
    expect(counts.sample_sources).toEqual({ added: 0, changed: 1, unchanged: 1 })
    expect((await marks(warehouse)).filter(({ _missing_since }) => _missing_since !== null)).toEqual([])
    await warehouse.expectRows(
      'SELECT id, valid_from, valid_to FROM sample_sources_history WHERE survey_id = 1 ORDER BY ALL',
      [
        [11, '2026-03-01T00:01:00Z', null],
        [12, '2026-03-01T00:01:00Z', '2026-03-01T00:10:00Z'],
        [12, '2026-03-01T00:20:00Z', null],
      ],
    )
    await warehouse.expectRows('SELECT _first_seen_at, _synced_at FROM sample_sources WHERE id = 12', [
      ['2026-03-01T00:01:00Z', '2026-03-01T00:20:00Z'],
    ])
  })

  test('a source whose row was rejected is not marked, and an unreadable id prevents every mark', async () => {
    const warehouse = await refreshed()
    await commit(warehouse, bundle(1, minute(10), [source(11)], progress(5), { listedSourceIds: [11, 12] }))
    await commit(warehouse, bundle(1, minute(11), [source(11)], progress(5), { listedSourceIds: null }))
    expect((await marks(warehouse)).filter(({ _missing_since }) => _missing_since !== null)).toEqual([])
  })

  test('a survey that is gone is marked with its sources and progress, but nothing of another survey is', async () => {
    const warehouse = await refreshed()
    const counts = await warehouse.account.commitBundles([{ kind: 'gone', surveyId: 1, at: minute(10) }], RUN)
    expect(counts.surveys).toEqual({ added: 0, changed: 1, unchanged: 0 })
    const gone = '2026-03-01T00:10:00Z'
    expect(await marks(warehouse)).toEqual([
      { what: 'source', id: 11, _missing_since: gone },
      { what: 'source', id: 12, _missing_since: gone },
      { what: 'source', id: 21, _missing_since: null },
      { what: 'source progress', id: 11, _missing_since: gone },
      { what: 'source progress', id: 12, _missing_since: gone },
      { what: 'source progress', id: 21, _missing_since: null },
      { what: 'survey', id: 1, _missing_since: gone },
      { what: 'survey', id: 2, _missing_since: null },
      { what: 'survey progress', id: 1, _missing_since: gone },
      { what: 'survey progress', id: 2, _missing_since: null },
    ])
    await warehouse.account.commitBundles([{ kind: 'gone', surveyId: 1, at: minute(11) }], RUN)
    expect((await marks(warehouse))[0]).toMatchObject({ _missing_since: gone })
  })

  test('a survey that returns loses the mark with its bundle, and a new version begins', async () => {
    const warehouse = await refreshed()
    await warehouse.account.commitBundles([{ kind: 'gone', surveyId: 1, at: minute(10) }], RUN)
    const tasks = (await warehouse.account.runFacts(RUN)).leftOver
    await list(warehouse.account, [survey(1)], minute(20))
    expect((await warehouse.account.runFacts(RUN)).leftOver).toBe(tasks + 1)
    await warehouse.expectRows('SELECT _missing_since FROM surveys WHERE id = 1', [['2026-03-01T00:10:00Z']])
    await commit(warehouse, bundle(1, minute(21), [source(11), source(12)], progress(5)))
    expect((await marks(warehouse)).filter(({ _missing_since }) => _missing_since !== null)).toEqual([])
    expect(await history(warehouse)).toMatchObject([
      { title: 'Survey 1', valid_to: '2026-03-01T00:10:00Z' },
      { title: 'Survey 1', valid_from: '2026-03-01T00:20:00Z', valid_to: null },
      { title: 'Survey 2' },
    ])
  })

  test('a survey that goes shows its waiting row first, and times that go back move nothing back', async () => {
    const warehouse = await refreshed()
    await list(warehouse.account, [survey(1, { title: 'New' })], minute(10))
    await warehouse.account.commitBundles([{ kind: 'gone', surveyId: 1, at: minute(5) }], RUN)
    await warehouse.expectRows('SELECT * FROM _sync.pending_surveys', [])
    await list(warehouse.account, [survey(1)], minute(2))
    await commit(warehouse, bundle(1, minute(3), [source(11), source(12)], progress(5)))
    expect((await history(warehouse)).slice(0, 3)).toEqual([
      { title: 'Survey 1', valid_from: '2026-03-01T00:00:00Z', valid_to: '2026-03-01T00:10:00Z' },
      { title: 'New', valid_from: '2026-03-01T00:10:00Z', valid_to: '2026-03-01T00:10:00.000001Z' },
      { title: 'Survey 1', valid_from: '2026-03-01T00:10:00.000002Z', valid_to: null },
    ])
  })
})

describe('the tables keep', () => {
  test('doubles bit for bit', async () => {
    const warehouse = await emptyWarehouse()
    const values = [0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, -1 / 7, 33.33333333333333, 0]
    const read = values.map((value) => progress(1, { completion_rate: value, complete_percentage: value }))
    await commit(warehouse, ...read.map((one, index) => bundle(index, minute(0), [], one)))
    for (const [index, one] of read.entries()) {
      const { progress: stored } = await storedBundle(warehouse.account, index)
      expect(stored).toStrictEqual({ survey_id: index, ...one })
    }
  })

  test('text with quotes, NUL, line breaks and emoji, the largest id, and every microsecond, before 1970 too', async () => {
    const warehouse = await emptyWarehouse()
    const id = Number.MAX_SAFE_INTEGER
    const odd = source(id, {
      name: `it's "quoted" \\ ; -- $1`,
      description: 'a\u0000b\nc\td\u{1F600}e\u0301\u202E',
      hashid: '',
      created_at: instantOf('1912-06-23T01:02:03.000001Z'),
      updated_at: instantOf('2262-04-11T23:47:16.854775Z'),
      panelist_id_required: true,
      sample_size: -1,
      _extra: '{"😀":"\\u0000","n":12345678901234567890}',
    })
    await commit(warehouse, bundle(id, minute(0), [odd], progress(1)))
    expect((await storedBundle(warehouse.account, id)).sources).toEqual([{ survey_id: id, ...odd }])
    const counts = await commit(warehouse, bundle(id, minute(1), [odd], progress(1)))
    expect(counts.sample_sources).toEqual({ added: 0, changed: 0, unchanged: 1 })
  })
})

test('a bundle that cannot be committed leaves nothing behind, and the next one is committed', async () => {
  const warehouse = await emptyWarehouse()
  await list(warehouse.account, [survey(1)], minute(0), 'full')
  const before = await places(warehouse)
  const wrong = { ...progress(5), completion_rate: 'half' } as unknown as Progress
  await expect(commit(warehouse, bundle(1, minute(1), [source(11)], wrong))).rejects.toThrow(
    'column completion_rate is DOUBLE and cannot hold a string',
  )
  expect(await places(warehouse)).toEqual(before)
  await commit(warehouse, bundle(1, minute(1), [source(11)], progress(5)))
  await warehouse.expectRows('SELECT interviews_count FROM survey_progress', [[5]])
})
