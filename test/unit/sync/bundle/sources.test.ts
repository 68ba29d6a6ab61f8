/** All pages of a survey's sources, when rows move between them. */
import { expect, test } from 'vitest'
import { unlimitedAllowance } from '../../../../src/base/allowance.js'
import type { SampleSource } from '../../../../src/model/fields.js'
import type { Page, Rejection } from '../../../../src/model/survey-source.js'
import { readSources } from '../../../../src/sync/bundle/sources.js'
import { type MemorySource, memorySource } from '../../../support/api/memory-source.js'
import { minute } from '../../../support/time/instants.js'
import { progress, source } from '../../../support/warehouse/rows.js'

const context = { signal: new AbortController().signal, allowance: unlimitedAllowance }

const withSources = (ids: readonly number[], pageSize: number): MemorySource => {
  const api = memorySource({
    1: { sources: ids.map((id) => source(id)), progress: progress(0), sourceProgress: {} },
  })
  api.pageSize = pageSize
  return api
}

const rejected = (rowId: number | null): Rejection => ({
  endpoint: 'sample_sources',
  surveyId: 1,
  sampleSourceId: rowId,
  rowId,
  problem: 'name: missing',
  raw: '{}',
})

/** The same source with one of its pages made different. */
const withPage = (
  api: MemorySource,
  change: (page: Page<SampleSource>) => Partial<Page<SampleSource>>,
): MemorySource => ({
  ...api,
  listSampleSources: async (surveyId, page, on) => {
    const answered = await api.listSampleSources(surveyId, page, on)
    return { ...answered, ...change(answered) }
  },
})

test('every page is read, and every source is there once', async () => {
  const api = withSources([5, 4, 3, 2, 1], 2)
  const list = await readSources(api, 1, context)
  expect(list.rows.map(({ id }) => id)).toEqual([5, 4, 3, 2, 1])
  expect(list).toMatchObject({ listedIds: [5, 4, 3, 2, 1], read: 'all', pages: 3 })
})

test('a survey without sources has one empty page', async () => {
  expect(await readSources(withSources([], 2), 1, context)).toEqual({
    readAt: minute(0),
    read: 'all',
    ids: [],
    rows: [],
    listedIds: [],
    pages: 1,
  })
})

test('a source that is created meanwhile pushes one down, which is read twice, and the later row counts', async () => {
  const api = withSources([2, 1], 1)
  api.before = (request) => {
    if (request === 'sources 1 page 2')
      api.surveys.get(1)!.sources = [source(3), source(2, { name: 'newer' }), source(1)]
  }
  const list = await readSources(api, 1, context)
  expect(api.asked).toEqual([1, 2, 3, 1, 2, 3].map((page) => `sources 1 page ${page}`))
  expect(list.rows.map(({ id, name }) => [id, name])).toEqual([
    [3, 'S3'],
    [2, 'newer'],
    [1, 'S1'],
  ])
})

test('a source that goes meanwhile pulls one up, unseen: the list is read again', async () => {
  const api = withSources([4, 3, 2, 1], 2)
  let goes = true
  api.before = (request) => {
    if (request === 'sources 1 page 2' && goes) {
      api.surveys.get(1)!.sources = [3, 2, 1].map((id) => source(id))
      goes = false
    }
  }
  const list = await readSources(api, 1, context)
  expect(list.listedIds).toEqual([3, 2, 1])
  expect(api.asked).toEqual([1, 2, 1, 2].map((page) => `sources 1 page ${page}`))
})

test('one that goes while another comes leaves the total as it was, and is noticed by the count', async () => {
  const api = withSources([4, 3, 2, 1], 2)
  let moves = true
  api.before = (request) => {
    if (request === 'sources 1 page 2' && moves) {
      api.surveys.get(1)!.sources = [5, 4, 3, 2].map((id) => source(id))
      moves = false
    }
  }
  const list = await readSources(api, 1, context)
  expect(api.asked).toHaveLength(4)
  expect(list.listedIds).toEqual([5, 4, 3, 2])
})

test('a list that keeps moving fails after three times, and the task stays queued', async () => {
  const api = withSources([4, 3, 2, 1], 2)
  api.before = (request) => {
    if (request === 'sources 1 page 2') api.surveys.get(1)!.sources.pop()
    else api.surveys.get(1)!.sources.push(source(100 + api.asked.length))
  }
  await expect(readSources(api, 1, context)).rejects.toMatchObject({ code: 'unstable_list', endsRun: false })
  expect(api.asked).toHaveLength(6)
})

test('a rejected row counts as listed by its id', async () => {
  const api = withPage(withSources([3, 2, 1], 50), ({ rows }) => ({
    rows: rows.slice(1),
    rejections: [rejected(3)],
  }))
  expect(await readSources(api, 1, context)).toMatchObject({
    listedIds: [2, 1, 3],
    read: 'some',
  })
})

test('where an id could not be read it is not known which sources are listed, but none is missed', async () => {
  const api = withPage(withSources([3, 2, 1], 50), ({ rows }) => ({
    rows: rows.slice(1),
    rejections: [rejected(null)],
  }))
  expect(await readSources(api, 1, context)).toMatchObject({ listedIds: null, pages: 1 })
})
