/** Reading a survey's bundle: which requests it makes, which it skips, and what each refusal means. */
import { describe, expect, test } from 'vitest'
import type { UpstreamError } from '../../../src/base/errors.js'
import { bodyTooLarge, rateRefused } from '../../../src/http/errors.js'
import type { Progress, SampleSource } from '../../../src/model/fields.js'
import { formatInstant } from '../../../src/model/instant.js'
import type { TaskReason } from '../../../src/model/run.js'
import { RefusedReadingError } from '../../../src/model/survey-source.js'
import type { StoredBundle } from '../../../src/model/warehouse.js'
import { equalsStored, knownSources, type SourceList } from '../../../src/sync/sources.js'
import { type MemorySurvey, memorySource, rejectedProgress } from '../../support/api/memory-source.js'
import { minute } from '../../support/time/instants.js'
import { readAndCommit } from '../../support/warehouse/read-bundle.js'
import { progress, source } from '../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const WHERE = { request: 'GET /surveys/1', account: 'acme' }

describe('a reading equals what is stored', () => {
  const sources: SourceList = {
    readAt: minute(0),
    read: 'all',
    ids: [11, 12],
    rows: [source(11), source(12, { _extra: '{"a":1}' })],
    listedIds: [11, 12],
    pages: 1,
  }
  const stored: StoredBundle = {
    sources: [source(12, { _extra: '{"a":1}' }), source(11)],
    progress: progress(5),
    knownSourceIds: [12, 11],
    unlistedSourceIds: [],
    sourceProgressReadAt: minute(0),
  }
  const listed = (rows: readonly SampleSource[], read: SourceList['read'] = 'all'): SourceList => {
    const ids = rows.map(({ id }) => id)
    return { ...sources, read, ids, listedIds: ids, rows }
  }

  test.each<
    [boolean, string, { stored?: Partial<StoredBundle>; sources?: SourceList; row?: Progress | null }]
  >([
    [true, 'when sources and progress equal the stored rows', {}],
    [true, 'when only the order of the sources differs', { sources: listed([...sources.rows].reverse()) }],
    [false, 'when an indicator differs', { row: progress(5, { drop_out_rate: 0.1 }) }],
    [false, 'when an indicator has become null', { row: progress(5, { drop_out_rate: null }) }],
    [false, 'when a status in _extra differs', { row: progress(5, { _extra: '{}' }) }],
    [false, 'when the list of sources was not answered', { sources: knownSources(stored) }],
    [false, 'when the progress could not be typed', { row: null }],
    [false, 'when no progress is stored', { stored: { progress: null } }],
    [false, 'when a source differs', { sources: listed([source(11), source(12)]) }],
    [false, 'when a source is new', { sources: listed([...sources.rows, source(13)]) }],
    [false, 'when a source has gone', { sources: listed([source(11)]) }],
    [false, 'when one source has gone and another is new', { sources: listed([source(11), source(13)]) }],
    [false, 'when a source could not be typed', { sources: listed(sources.rows, 'some') }],
    [
      false,
      'when a source is known that was stored without progress',
      { stored: { knownSourceIds: [11, 12, 13] } },
    ],
    [false, 'when the progress of all sources was never read', { stored: { sourceProgressReadAt: null } }],
  ])('%s %s', (isEqual, _, change) => {
    const { sources: list = sources, row = progress(5) } = change
    expect(equalsStored({ ...stored, ...change.stored }, list, row)).toBe(isEqual)
  })
})

const bundleOf = async (...parameters: Parameters<typeof readAndCommit>) => {
  const { outcome, failure } = await readAndCommit(...parameters)
  return { ...outcome, ...(failure && { code: failure.code, endsRun: failure.endsRun }) }
}

const twoSources = () =>
  memorySource({
    1: {
      sources: [source(11), source(12)],
      progress: progress(5),
      sourceProgress: { 11: progress(2), 12: progress(3) },
    },
  })

const nineSources = () => {
  const sources = Array.from({ length: 9 }, (_, index) => source(index + 1))
  return memorySource({ 1: { sources, progress: progress(5), sourceProgress: {} } })
}

describe('the list of sources', () => {
  const twice = async (
    edit: (survey: MemorySurvey) => void,
    { minutes = 60, ...task }: { minutes?: number; reason?: TaskReason; isNightly?: boolean } = {},
  ) => {
    const warehouse = await emptyWarehouse()
    const api = twoSources()
    await bundleOf(warehouse, api)
    const survey = api.surveys.get(1)
    if (survey !== undefined) edit(survey)
    api.now = minute(minutes)
    const outcome = await bundleOf(warehouse, api, task)
    const stored = await warehouse.rows(
      'SELECT id, name, _missing_since IS NULL AS listed FROM sample_sources ORDER BY 1',
    )
    const [read] = await warehouse.rows('SELECT sources_read_at, refreshed_at FROM freshness')
    const confirmed = await warehouse.rows('SELECT DISTINCT confirmed_until FROM sample_source_periods')
    return { requests: api.asked, outcome, stored, read, confirmed }
  }
  const LIST = 'sources 1 page 1'
  const WEEK = 7 * 24 * 60
  const at = (minutes: number) => formatInstant(minute(minutes))

  test('is read with every reading, before any other request, and its sources are not if nothing has changed', async () => {
    const { requests, outcome, stored, read, confirmed } = await twice(() => undefined)
    expect(requests).toEqual([LIST, 'progress 1'])
    expect(outcome).toMatchObject({ sourcesRead: 'all', sourceProgressRead: 'unchanged' })
    expect(stored).toHaveLength(2)
    expect(read).toEqual({ sources_read_at: at(60), refreshed_at: at(60) })
    expect(confirmed).toEqual([{ confirmed_until: at(60) }])
  })

  const all = [LIST, 'progress 1', 'progress 1/11', 'progress 1/12']
  test.each<
    [
      string,
      (survey: MemorySurvey) => void,
      { minutes?: number; reason?: TaskReason; isNightly?: boolean },
      readonly string[],
    ]
  >([
    [
      'when a text of the list has changed',
      (one) => one.sources.splice(0, 1, source(11, { name: 'renamed' })),
      {},
      all,
    ],
    [
      'when the progress of the survey has changed',
      (one) => Object.assign(one, { progress: progress(6) }),
      {},
      all,
    ],
    ['after a week, if every run reads the survey', () => undefined, { minutes: WEEK }, all],
    [
      'not after a week, if it is inactive',
      () => undefined,
      { minutes: WEEK, isNightly: false },
      [LIST, 'progress 1'],
    ],
    [
      'not when a listing shows the survey, and nothing else has changed',
      () => undefined,
      { reason: 'changed' },
      [LIST, 'progress 1'],
    ],
    ['when somebody names the survey', () => undefined, { reason: 'requested' }, all],
    ['when the list of surveys lacks it', () => undefined, { reason: 'missing' }, all],
  ])('and the progress of its sources %s', async (_, edit, more, requests) => {
    expect((await twice(edit, more)).requests).toEqual(requests)
  })

  test('is read again when a stored source has gone', async () => {
    const { requests, stored } = await twice((survey) => {
      survey.sources = [source(11)]
      delete survey.sourceProgress[12]
      survey.progress = progress(6)
    })
    expect(requests.filter((request) => request === LIST)).toHaveLength(1)
    expect(stored.map(({ listed }) => listed)).toEqual([true, false])
  })
})

describe('a bundle', () => {
  test('reads the progress of the sources again after one could not be typed, though that of the survey is unchanged', async () => {
    const warehouse = await emptyWarehouse()
    const api = twoSources()
    await bundleOf(warehouse, api)
    const now = api.surveys.get(1)!
    now.progress = progress(9)
    now.sourceProgress[12] = null
    await bundleOf(warehouse, api)
    now.sourceProgress[12] = progress(7)
    await bundleOf(warehouse, api)
    await warehouse.expectRows(
      'SELECT sample_source_id, interviews_count FROM sample_source_progress ORDER BY 1',
      [
        [11, 2],
        [12, 7],
      ],
    )
    await bundleOf(warehouse, api)
    expect(api.asked).toEqual(['sources 1 page 1', 'progress 1'])
  })

  test('reports a survey as gone only when no listing showed it and both its addresses answer 404', async () => {
    const warehouse = await emptyWarehouse()
    expect(await bundleOf(warehouse, memorySource(), { reason: 'missing' })).toEqual({
      kind: 'gone',
      surveyId: 1,
      at: minute(0),
    })
    const unread = { error: expect.stringContaining('survey 1'), isRefused: true }
    const refused = { kind: 'failed', unread, code: 'survey_unread', endsRun: false }
    expect(await bundleOf(warehouse, memorySource())).toMatchObject({ ...refused, mayBeGone: true })
    const forbidden = memorySource()
    forbidden.before = (request) => {
      if (request === 'progress 1') throw new RefusedReadingError('forbidden', 'survey 1: 403')
    }
    expect(await bundleOf(warehouse, forbidden, { reason: 'missing' })).toMatchObject(refused)
  })

  test('keeps the sources when the progress is refused, and requests nothing more', async () => {
    const warehouse = await emptyWarehouse()
    const api = twoSources()
    api.before = (request) => {
      if (request === 'progress 1') throw new RefusedReadingError('not_found', 'no progress')
    }
    expect(await bundleOf(warehouse, api, { reason: 'missing' })).toMatchObject({
      kind: 'refreshed',
      unread: { error: 'no progress', isRefused: true },
      sourcesRead: 'all',
      progress: null,
    })
    expect(api.asked).toEqual(['sources 1 page 1', 'progress 1'])
    await warehouse.expectRows('SELECT id FROM sample_sources ORDER BY 1', [[11], [12]])
    await warehouse.expectRows(
      'SELECT refreshed_at, sources_read_at, source_progress_read_at, last_error FROM freshness',
      [[null, '2026-03-01T00:00:00Z', null, 'no progress']],
    )
  })

  test('keeps the progress when the list of sources is refused, and uses the stored sources', async () => {
    const warehouse = await emptyWarehouse()
    const api = twoSources()
    await bundleOf(warehouse, api)
    api.now = minute(60)
    const now = api.surveys.get(1)
    if (now !== undefined) now.progress = progress(9)
    api.before = (request) => {
      if (request.startsWith('sources')) throw new RefusedReadingError('not_found', 'no sources')
    }
    await bundleOf(warehouse, api, { reason: 'changed' })
    expect(api.asked).toEqual(['sources 1 page 1', 'progress 1', 'progress 1/11', 'progress 1/12'])
    await warehouse.expectRows('SELECT interviews_count FROM survey_progress', [[9]])
    expect(await warehouse.rows('SELECT id FROM sample_sources WHERE _missing_since IS NULL')).toHaveLength(2)
    // Nobody knows whether it is still the same.
    await warehouse.expectRows(
      'SELECT refreshed_at, sources_read_at, sources_listed_at, last_error FROM freshness',
      [['2026-03-01T01:00:00Z', null, '2026-03-01T00:00:00Z', 'no sources']],
    )
  })

  test('reads the list of sources again when a source is not found, because it has gone meanwhile', async () => {
    const warehouse = await emptyWarehouse()
    const api = twoSources()
    api.before = (request) => {
      if (request === 'progress 1/12') api.surveys.get(1)!.sources = [source(11)]
      if (request === 'progress 1/12') delete api.surveys.get(1)!.sourceProgress[12]
    }
    expect(await bundleOf(warehouse, api)).toMatchObject({ kind: 'refreshed', listedSourceIds: [11] })
  })

  test('keeps the rest when a source is listed a second time and still not found', async () => {
    const warehouse = await emptyWarehouse()
    const api = twoSources()
    delete api.surveys.get(1)!.sourceProgress[12]
    expect(await bundleOf(warehouse, api)).toMatchObject({
      kind: 'refreshed',
      unread: { error: 'source 12 is not found', isRefused: true },
      sourceProgressRead: 'some',
    })
    expect(api.asked.filter((request) => request.startsWith('sources'))).toHaveLength(2)
    await warehouse.expectRows(
      'SELECT sample_source_id FROM sample_source_progress WHERE _missing_since IS NULL',
      [[11]],
    )
    // The source was refused before, so the list is read only once.
    await bundleOf(warehouse, api, { reason: 'changed', refusals: 1 })
    expect(api.asked.filter((request) => request.startsWith('sources'))).toHaveLength(1)
  })

  test('that exceeds the budget is returned with the requests it needs, after the first page of its sources', async () => {
    const warehouse = await emptyWarehouse()
    const api = nineSources()
    api.pageSize = 5
    expect(await bundleOf(warehouse, api, { requestsMax: 10 })).toEqual({
      kind: 'oversized',
      surveyId: 1,
      at: minute(0),
      requestsNeeded: 12,
    })
    expect(api.asked).toEqual(['sources 1 page 1'])
  })
})

describe('a failure that lasts concerns one request', () => {
  const lasting = bodyTooLarge(WHERE, 9)
  const failingAt = (request: string, error: UpstreamError) => (asked: string) => {
    if (asked === request) throw error
  }

  test('the progress is read without the list', async () => {
    const warehouse = await emptyWarehouse()
    const api = twoSources()
    await bundleOf(warehouse, api)
    api.now = minute(60)
    api.surveys.get(1)!.progress = progress(9)
    api.before = failingAt('sources 1 page 1', lasting)
    expect(await bundleOf(warehouse, api, { reason: 'changed' })).toMatchObject({
      unread: { error: lasting.message, isRefused: false },
      sourcesRead: 'failed',
    })
    await warehouse.expectRows('SELECT interviews_count FROM survey_progress', [[9]])
    expect(await warehouse.rows('SELECT id FROM sample_sources WHERE _missing_since IS NULL')).toHaveLength(2)
  })

  test('the sources are kept without the progress', async () => {
    const warehouse = await emptyWarehouse()
    const api = twoSources()
    api.before = failingAt('progress 1', lasting)
    expect(await bundleOf(warehouse, api)).toMatchObject({
      unread: { error: lasting.message, isRefused: false },
      sourcesRead: 'all',
    })
    await warehouse.expectRows('SELECT id FROM sample_sources ORDER BY 1', [[11], [12]])
    await warehouse.expectRows('SELECT refreshed_at, last_error FROM freshness', [[null, lasting.message]])
  })

  test('to type a listed source leaves the progress of its sources unknown', async () => {
    const warehouse = await emptyWarehouse()
    const api = twoSources()
    const read = api.listSampleSources
    api.listSampleSources = async (...parameters) => {
      const page = await read(...parameters)
      const rejections = [{ ...rejectedProgress(1, null), rowId: 12 }]
      return { ...page, rows: page.rows.filter(({ id }) => id === 11), rejections }
    }
    expect(await bundleOf(warehouse, api)).toMatchObject({ sourcesRead: 'some', sourceProgressRead: 'some' })
    await warehouse.expectRows('SELECT source_progress_read_at FROM freshness', [[null]])
  })

  test('the progress of one source does not cost the others', async () => {
    const warehouse = await emptyWarehouse()
    const api = twoSources()
    api.before = failingAt('progress 1/11', lasting)
    expect(await bundleOf(warehouse, api)).toMatchObject({ sourceProgressRead: 'some' })
    await warehouse.expectRows('SELECT sample_source_id AS id FROM sample_source_progress', [[12]])
    expect(await warehouse.rows('SELECT interviews_count FROM survey_progress')).toHaveLength(1)
  })

  test('of both endpoints fails the survey', async () => {
    const api = twoSources()
    api.before = (request) => {
      throw request.startsWith('sources') ? lasting : new RefusedReadingError('not_found', 'no progress')
    }
    const failed = { kind: 'failed', unread: { isRefused: false } }
    expect(await bundleOf(await emptyWarehouse(), api)).toMatchObject({ ...failed, code: 'survey_unread' })
  })

  test('but an error that ends the run is thrown', async () => {
    const api = twoSources()
    api.before = failingAt('sources 1 page 1', rateRefused(WHERE, 5, { requests: 60, perMs: 60_000 }))
    await expect(bundleOf(await emptyWarehouse(), api)).rejects.toMatchObject({ code: 'rate_refused' })
    expect(api.asked).toEqual(['sources 1 page 1'])
  })
})
