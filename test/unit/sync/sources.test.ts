/** Reading all pages of a survey's sources while rows move between the pages. */
import { expect, test } from 'vitest'
import type { SampleSource } from '../../../src/model/fields.js'
import type { Page } from '../../../src/model/survey-source.js'
import { readSources } from '../../../src/sync/sources.js'
import { unlimitedAllowance } from '../../support/api/allowance.js'
import { type MemorySource, memorySource } from '../../support/api/memory-source.js'
import { minute } from '../../support/time/instants.js'
import { progress, rejection, source } from '../../support/warehouse/rows.js'

const context = { signal: new AbortController().signal, allowance: unlimitedAllowance }

const read = (api: MemorySource, warn: (problem: string) => void = () => undefined) =>
  readSources(1, (page) => api.listSampleSources(1, page, context), warn)

const withSources = (ids: readonly number[], pageSize: number): MemorySource => {
  const api = memorySource({
    1: { sources: ids.map((id) => source(id)), progress: progress(0), sourceProgress: {} },
  })
  api.pageSize = pageSize
  return api
}

const rejected = (rowId: number | null) =>
  rejection({ endpoint: 'sample_sources', surveyId: 1, sampleSourceId: rowId, rowId })

type Sources = Page<SampleSource>
/** Three sources on one page, with `change` applied to it. */
const withPage = (change: (page: Sources) => Partial<Sources>): MemorySource => {
  const api = withSources([3, 2, 1], 50)
  return {
    ...api,
    listSampleSources: async (surveyId, page, on) => {
      const answered = await api.listSampleSources(surveyId, page, on)
      return { ...answered, ...change(answered) }
    },
  }
}

test('reads every page and returns every source once', async () => {
  const api = withSources([5, 4, 3, 2, 1], 2)
  const list = await read(api)
  expect(list.rows.map(({ id }) => id)).toEqual([5, 4, 3, 2, 1])
  expect(list).toMatchObject({ listedIds: [5, 4, 3, 2, 1], read: 'all', pages: 3 })
})

test('reads one empty page of a survey without sources', async () => {
  expect(await read(withSources([], 2))).toEqual({
    readAt: minute(0),
    read: 'all',
    ids: [],
    rows: [],
    listedIds: [],
    pages: 1,
  })
})

test('reads the list again when a new source pushes another one down, and keeps the later row', async () => {
  const api = withSources([2, 1], 1)
  api.before = (request) => {
    if (request === 'sources 1 page 2')
      api.surveys.get(1)!.sources = [source(3), source(2, { name: 'newer' }), source(1)]
  }
  const list = await read(api)
  expect(api.asked).toEqual([1, 2, 3, 1, 2, 3].map((page) => `sources 1 page ${page}`))
  expect(list.rows.map(({ id, name }) => [id, name])).toEqual([
    [3, 'S3'],
    [2, 'newer'],
    [1, 'S1'],
  ])
})

test.each([
  ['a source goes and another one moves up unseen', [3, 2, 1]],
  ['one source goes and another comes, though the total stays the same', [5, 4, 3, 2]],
])('reads the list again when %s', async (_, ids) => {
  const api = withSources([4, 3, 2, 1], 2)
  api.before = (request) => {
    if (request === 'sources 1 page 2') api.surveys.get(1)!.sources = ids.map((id) => source(id))
  }
  expect((await read(api)).listedIds).toEqual(ids)
  expect(api.asked).toEqual([1, 2, 1, 2].map((page) => `sources 1 page ${page}`))
})

test('gives up a list that keeps moving after three readings, without ending the run', async () => {
  const api = withSources([4, 3, 2, 1], 2)
  api.before = (request) => {
    if (request === 'sources 1 page 2') api.surveys.get(1)!.sources.pop()
    else api.surveys.get(1)!.sources.push(source(100 + api.asked.length))
  }
  await expect(read(api)).rejects.toMatchObject({ code: 'unstable_list', endsRun: false })
  expect(api.asked).toHaveLength(6)
})

test('counts a rejected row as listed by its id', async () => {
  const api = withPage(({ rows }) => ({ rows: rows.slice(1), rejections: [rejected(3)] }))
  expect(await read(api)).toMatchObject({ listedIds: [2, 1, 3], read: 'some' })
})

test('returns no list of ids when an id cannot be read, but still counts that row', async () => {
  const api = withPage(({ rows }) => ({ rows: rows.slice(1), rejections: [rejected(null)] }))
  expect(await read(api)).toMatchObject({ listedIds: null, pages: 1 })
})

const RIVAL = source(2, { name: 'newer', updated_at: minute(9) })
const OTHER = source(2, { name: 'older', updated_at: minute(1) })

test.each([
  ['the newer row first', [RIVAL, OTHER]],
  ['the newer row last', [OTHER, RIVAL]],
])(
  'a list with a source on two pages, as often as it is read, is used with the newer row: %s',
  async (_, twins) => {
    const api = withSources([], 2)
    api.surveys.get(1)!.sources = [source(3), ...twins, source(1)]
    const warnings: string[] = []
    const list = await read(api, (problem) => warnings.push(problem))
    expect(list.rows.map(({ name }) => name).toSorted()).toEqual(['S1', 'S3', 'newer'])
    // One of the announced sources may be hidden, so none counts as gone.
    expect(list).toMatchObject({ read: 'some', listedIds: null })
    expect(api.asked).toHaveLength(4)
    expect(warnings).toEqual([
      'the list of sample sources of survey 1 shows source 2 on page 1 and on page 2, and fewer sources than it announces',
    ])
  },
)

test('a page with a source twice is used after one reading, and the other sources are not gone', async () => {
  const api = withPage(({ rows, pagination }) => ({
    rows,
    repeated: [2],
    pagination: { ...pagination, total_count: 4 },
  }))
  const warnings: string[] = []
  expect(await read(api, (problem) => warnings.push(problem))).toMatchObject({
    ids: [3, 2, 1],
    read: 'some',
    listedIds: null,
  })
  expect(api.asked).toHaveLength(1)
  expect(warnings).toHaveLength(1)
})

test('a page with a source twice is a whole list if all announced sources are on it', async () => {
  const api = withPage(() => ({ repeated: [2] }))
  expect(await read(api)).toMatchObject({ read: 'all', listedIds: [3, 2, 1] })
})

test('fewer sources than announced, and none twice, are no stable list', async () => {
  const api = withPage(({ pagination }) => ({ pagination: { ...pagination, total_count: 4 } }))
  await expect(read(api)).rejects.toMatchObject({ code: 'unstable_list' })
})
