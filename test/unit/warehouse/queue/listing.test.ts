/** Listings: how they continue after an interruption, when the cursor moves, and which surveys a full one finds missing. */
import { describe, expect, test } from 'vitest'
import type { Drift } from '../../../../src/model/survey-source.js'
import type { ListingStart } from '../../../../src/model/warehouse.js'
import { hourOf, minute } from '../../../support/time/instants.js'
import {
  bundle,
  commitPage,
  list,
  listingPage,
  progress,
  RUN,
  rejection,
  survey,
} from '../../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const rejected = (rowId: number | null, raw = `{"id":"${rowId}"}`) =>
  rejection({ surveyId: rowId, rowId, problem: 'title: missing', raw })

const NOTHING_QUEUED = {
  surveysLeftOut: 0,
  surveysUnconfirmed: 0,
  sourcesLeftOut: 0,
  surveysWithLeftOut: 0,
  firstWithLeftOut: null,
  leftOver: 0,
  failing: 0,
  failingSurveys: [],
}
const full: ListingStart = { kind: 'full', updatedSince: null, ceiling: minute(-5), startedAt: minute(1) }

const NO_LISTING = {
  cursor: null,
  fullListedAt: null,
  countedAt: null,
  fullListingDue: false,
  hasLeftOut: false,
  cursorDatedAt: null,
  listings: { full: null, incremental: null },
}

describe('a listing', () => {
  test('leaves the cursor until its last page, which moves it to the ceiling from the start', async () => {
    const { account } = await emptyWarehouse()
    await account.startListing(full)
    await commitPage(account, [survey(2)], minute(0), { totalCount: 2, nextPage: 2 })
    expect(await account.position()).toMatchObject({
      cursor: null,
      fullListedAt: null,
      countedAt: null,
      listings: { full: { ...full, nextPage: 2, totalCount: 2 } },
    })
    await commitPage(account, [survey(1)], minute(9), { totalCount: 2, committedAt: minute(11) })
    expect(await account.position()).toEqual({
      ...NO_LISTING,
      cursor: minute(-5),
      cursorDatedAt: full.startedAt,
      fullListedAt: minute(11),
    })
  })

  test('that is incremental leaves the time of the last full listing', async () => {
    const { account } = await emptyWarehouse()
    await list(account, [survey(1)], minute(0), 'full')
    await list(account, [], minute(60))
    expect(await account.position()).toEqual({
      ...NO_LISTING,
      cursor: minute(55),
      cursorDatedAt: minute(60),
      fullListedAt: minute(0),
    })
  })

  test('that starts replaces an interrupted one of its kind, whose surveys no longer count', async () => {
    const { account } = await emptyWarehouse()
    await account.startListing(full)
    await commitPage(account, [survey(1)], minute(0), { nextPage: 2, rejections: [rejected(null)] })
    const incremental: ListingStart = { ...full, kind: 'incremental', updatedSince: minute(-60) }
    await account.startListing(incremental)
    const again: ListingStart = { ...full, ceiling: minute(-4) }
    await account.startListing(again)
    expect((await account.position()).listings).toMatchObject({
      full: { ...again, nextPage: 1, totalCount: 0 },
      incremental: { ...incremental, nextPage: 1, totalCount: 0 },
    })
    expect(await account.countListed({ kind: 'full', page: 1, surveys: [], rejections: [] })).toBe(0)
  })

  test('that is dropped leaves its rows and tasks, but no cursor', async () => {
    const { account } = await emptyWarehouse()
    await account.startListing(full)
    await commitPage(account, [survey(1)], minute(0), { nextPage: 2 })
    await account.dropListing('full')
    expect(await account.position()).toEqual(NO_LISTING)
    expect(await account.hasTasks()).toBe(true)
  })

  test('that was never started cannot end, and its page leaves nothing', async () => {
    const { account, expectRows } = await emptyWarehouse()
    await expect(commitPage(account, [survey(1)], minute(0))).rejects.toThrow(
      'cannot end a listing that was never started',
    )
    await expectRows('SELECT * FROM surveys', [])
    expect(await account.hasTasks()).toBe(false)
  })
})

test('every survey counts once, a rejected row by its id, and each row without an id by itself', async () => {
  const { account } = await emptyWarehouse()
  await account.startListing(full)
  expect(
    await account.countListed({ kind: 'full', page: 1, surveys: [survey(1)], rejections: [rejected(null)] }),
  ).toBe(2)
  await commitPage(account, [survey(1), survey(2)], minute(0), {
    nextPage: 2,
    rejections: [rejected(3), rejected(null, '{"a":1}'), rejected(null, '{"a":2}')],
  })
  const second = {
    kind: 'full' as const,
    page: 2,
    surveys: [survey(2), survey(4)],
    rejections: [rejected(3), rejected(1), rejected(null)],
  }
  expect(await account.countListed(second)).toBe(4 + 3)
  expect(await account.countListed({ kind: 'full', page: 2, surveys: [], rejections: [] })).toBe(3 + 2)
})

test('a page that a resumed listing reads again counts once, with its new rows', async () => {
  const { account } = await emptyWarehouse()
  await account.startListing(full)
  const page = (number: number, ids: readonly number[], unidentified: number, nextPage: number | null) =>
    listingPage(
      ids.map((id) => survey(id)),
      minute(0),
      {
        page: number,
        nextPage,
        rejections: Array.from({ length: unidentified }, () => rejected(null, 'null')),
      },
    )
  await account.commitListingPages([page(1, [1], 1, 2)])
  await account.commitListingPages([page(2, [2], 2, 3)])
  expect(await account.countListed(page(2, [2], 2, 3))).toBe(2 + 3)
  // One of its two unreadable rows has gone meanwhile. Then the listing is interrupted and resumed once more.
  await account.commitListingPages([page(2, [2], 1, 3)])
  await account.commitListingPages([page(2, [2], 1, 3)])
  expect(await account.countListed(page(3, [3], 1, null))).toBe(3 + 3)
})

describe('a complete full listing', () => {
  test('queues each survey that it did not show, to read it at its own address, unless it is already missing', async () => {
    const { account, expectRows } = await emptyWarehouse()
    await list(account, [survey(1), survey(2), survey(3), survey(4)], minute(0), 'full')
    await account.commitBundles(
      [1, 2, 3].map((id) => bundle(id, minute(1), [], progress(0))),
      RUN,
    )
    await account.commitBundles([{ kind: 'gone', surveyId: 4, at: minute(2) }], RUN)
    await account.startListing(full)
    await commitPage(account, [survey(1)], minute(10), { rejections: [rejected(3)] })
    await expectRows('SELECT survey_id, reason, enqueued_at FROM _sync.tasks', [
      [2, 'missing', '2026-03-01T00:10:00Z'],
    ])
    await expectRows('SELECT id FROM surveys WHERE _missing_since IS NOT NULL', [[4]])
  })

  test('counts the surveys of all its pages, of an earlier run too', async () => {
    const { account, expectRows } = await emptyWarehouse()
    await list(account, [survey(1), survey(2)], minute(0), 'full')
    await account.startListing(full)
    await commitPage(account, [survey(1)], minute(10), { nextPage: 2 })
    await commitPage(account, [survey(2)], minute(20))
    await expectRows("SELECT survey_id FROM _sync.tasks WHERE reason = 'missing'", [])
  })

  test('finds missing surveys, which an incremental listing does not', async () => {
    const { account, expectRows } = await emptyWarehouse()
    await list(account, [survey(1), survey(2)], minute(0), 'full')
    await list(account, [survey(1)], minute(10), 'incremental')
    await expectRows("SELECT survey_id FROM _sync.tasks WHERE reason = 'missing'", [])
  })
})

test('a survey that the list leaves out under a clock far ahead is dated anew, and forgotten once it is listed', async () => {
  const { account, expectRows } = await emptyWarehouse()
  const unlistedSince = 'SELECT survey_id, unlisted_since FROM freshness WHERE unlisted_since IS NOT NULL'
  await list(account, [survey(1), survey(2)], minute(0), 'full')
  await list(account, [survey(1)], hourOf(400), 'full')
  await list(account, [survey(1)], hourOf(2), 'full')
  await expectRows(unlistedSince, [[2, '2026-03-02T02:00:00Z']])
  await list(account, [survey(1)], hourOf(3), 'full')
  await expectRows(unlistedSince, [[2, '2026-03-02T02:00:00Z']])
  await list(account, [survey(1), survey(2)], hourOf(4), 'full')
  await list(account, [survey(1)], hourOf(400), 'full')
  await list(account, [survey(2)], hourOf(5))
  await expectRows(unlistedSince, [])
})

test('a rejected row is stored as received, once per run, however often it is received', async () => {
  const { account, expectRows } = await emptyWarehouse()
  const raw = '{"id":12345678901234567890,  "title":"\\u0000 \\"x\\""}'
  await account.startListing(full)
  for (const runId of ['run-1', 'run-1', 'run-2'])
    await commitPage(account, [], minute(0), {
      runId,
      nextPage: 2,
      rejections: [rejected(null, raw), rejected(null, raw)],
    })
  await expectRows('SELECT run_id, raw FROM _sync.rejected_rows ORDER BY 1', [
    ['run-1', raw],
    ['run-2', raw],
  ])
  expect(await account.runFacts('run-1')).toEqual({
    ...NOTHING_QUEUED,
    rejectedRows: 1,
    driftEvents: 0,
    drift: [],
    rejections: [{ endpoint: 'surveys', problem: 'title: missing', rows: 1 }],
  })
})

test('drift is one event per field, value and kind, with a count and its first and last time', async () => {
  const { account, cells, expectRows } = await emptyWarehouse()
  const field: Drift = { resource: 'survey', kind: 'unknown_field', path: 'colour', value: null }
  const text: Drift = { ...field, kind: 'replaced_text' }
  const value: Drift = { resource: 'survey', kind: 'unknown_value', path: 'status', value: 'archived' }
  await account.startListing(full)
  await commitPage(account, [], minute(0), { nextPage: 2, drift: [field, field, text, value] })
  await commitPage(account, [], minute(60), { runId: 'run-2', nextPage: 3, drift: [field] })
  const [start, later] = ['2026-03-01T00:00:00Z', '2026-03-01T01:00:00Z']
  expect(
    await cells(`SELECT path, value, kind, occurrences, first_seen_at, first_run_id, last_seen_at, last_run_id
      FROM _sync.drift_events ORDER BY path, kind DESC`),
  ).toEqual([
    ['colour', null, 'unknown_field', 3, start, 'run-1', later, 'run-2'],
    ['colour', null, 'replaced_text', 1, start, 'run-1', start, 'run-1'],
    ['status', 'archived', 'unknown_value', 1, start, 'run-1', start, 'run-1'],
  ])
  expect(await account.runFacts('run-2')).toEqual({
    ...NOTHING_QUEUED,
    rejectedRows: 0,
    driftEvents: 1,
    drift: [{ ...field, occurrences: 3, firstSeenAt: minute(0), isNew: false }],
    rejections: [],
  })

  // An older answer, or a clock that went back, does not move last_seen_at back.
  await commitPage(account, [], minute(30), { runId: 'run-3', nextPage: 3, drift: [field] })
  await expectRows(
    "SELECT last_seen_at FROM _sync.drift_events WHERE path = 'colour' AND kind = 'unknown_field'",
    [[later]],
  )
})
