import { describe, expect, test } from 'vitest'
import { micros, startApi } from './support/api.js'

describe('API document, "List the sample sources of a survey"', () => {
  test('sources come in pages, created_at descending, and equal those of the truth', async () => {
    await using api = await startApi({ surveys: 40, pageSize: 2 })
    const surveys = (await api.readTruth()).accounts[0]!.surveys
    const largest = surveys.toSorted(
      (one, other) => other.sample_sources.length - one.sample_sources.length,
    )[0]!
    const total = largest.sample_sources.length
    expect(total).toBeGreaterThan(4)
    const found = []
    for (let page = 1; page <= Math.ceil(total / 2); page++) {
      const list = await api.readSources(largest.id, `?page=${page}`)
      expect(list.pagination).toEqual({
        current_page: page,
        next_page: page * 2 < total ? page + 1 : null,
        prev_page: page === 1 ? null : page - 1,
        total_pages: Math.ceil(total / 2),
        total_count: total,
      })
      found.push(...list.sample_sources)
    }
    expect(found).toEqual(largest.sample_sources)
    const sorted = found.toSorted(
      (one, other) => micros(other.created_at) - micros(one.created_at) || other.id - one.id,
    )
    expect(found).toEqual(sorted)
  })

  test('a survey without sources has an empty list of 0 pages', async () => {
    await using api = await startApi({ surveys: 120 })
    const bare = (await api.readTruth()).accounts[0]!.surveys.find(
      (survey) => survey.sample_sources.length === 0,
    )!
    expect(await api.readSources(bare.id)).toEqual({
      sample_sources: [],
      pagination: { current_page: 1, next_page: null, prev_page: null, total_pages: 0, total_count: 0 },
    })
    const progress = await api.readProgress(bare.id)
    expect(progress.sample_size).toBe(0)
    expect(progress.completion_rate).toBeNull()
  })
})
