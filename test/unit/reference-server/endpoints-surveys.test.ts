import { describe, expect, test } from 'vitest'
import { micros, START_AT, startApi } from './support/api.js'

const since = (at: string) => `updated_since=${encodeURIComponent(at)}`

describe('API document, "List surveys"', () => {
  test('"Pagination object": the numbers of the first, a middle and the last page, and of a page past the end', async () => {
    await using api = await startApi({ surveys: 25, pageSize: 10 })
    const pages = []
    for (const page of [1, 2, 3, 4, 99]) pages.push((await api.readSurveys(`?page=${page}`)).pagination)
    const all = { total_pages: 3, total_count: 25 }
    expect(pages).toEqual([
      { current_page: 1, next_page: 2, prev_page: null, ...all },
      { current_page: 2, next_page: 3, prev_page: 1, ...all },
      { current_page: 3, next_page: null, prev_page: 2, ...all },
      { current_page: 4, next_page: null, prev_page: null, ...all },
      { current_page: 99, next_page: null, prev_page: null, ...all },
    ])
    expect((await api.readSurveys('?page=4')).surveys).toEqual([])
    expect((await api.readSurveys('')).pagination.current_page).toBe(1)
  })

  test('"Pagination object": an empty list has no pages', async () => {
    await using api = await startApi({ surveys: 0 })
    expect(await api.readSurveys()).toEqual({
      surveys: [],
      pagination: { current_page: 1, next_page: null, prev_page: null, total_pages: 0, total_count: 0 },
    })
  })

  test('updated_since keeps surveys modified since that moment, the moment included, to the microsecond', async () => {
    await using api = await startApi({ surveys: 300, pageSize: 1000 })
    const all = (await api.readSurveys()).surveys
    const fine = all.filter(({ updated_at }) => /\.\d{6}/.test(updated_at))
    expect(fine.length).toBeGreaterThan(5)
    for (const { updated_at } of [...fine.slice(0, 5), ...all.slice(0, 5)]) {
      const kept = (await api.readSurveys(`?${since(updated_at)}`)).surveys
      const bound = micros(updated_at)
      expect(kept).toEqual(all.filter((survey) => micros(survey.updated_at) >= bound))
      const later = new Date(Math.floor(bound / 1000)).toISOString().slice(0, -4)
      const next = `${later}${String((bound % 1_000_000) + 1).padStart(6, '0')}Z`
      const without = (await api.readSurveys(`?${since(next)}`)).surveys
      expect(without).toEqual(all.filter((survey) => micros(survey.updated_at) > bound))
    }
  })

  test('filters combine with each other and with pages', async () => {
    await using api = await startApi({ surveys: 100, pageSize: 7 })
    const bound = '2026-01-15T00:00:00+05:30'
    const query = `status[]=complete&status[]=fieldwork&${since(bound)}`
    const first = await api.readSurveys(`?${query}`)
    const found = [...first.surveys]
    for (let page = 2; page <= first.pagination.total_pages; page++) {
      found.push(...(await api.readSurveys(`?${query}&page=${page}`)).surveys)
    }
    const all = (await api.readTruth('?account=default')).accounts[0]!.surveys
    const expected = all.filter(
      ({ status, updated_at }) =>
        ['complete', 'fieldwork'].includes(status) && micros(updated_at) >= micros(bound),
    )
    expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
    expect(first.pagination.total_count).toBe(expected.length)
    expect(found.length).toBeGreaterThan(7)
  })

  test('a filtered list follows the clock, from one page to the next', async () => {
    await using api = await startApi({ surveys: 300, pageSize: 1000 })
    const query = `?${since(START_AT)}`
    expect((await api.readSurveys(query)).surveys).toEqual([])
    await api.moveTime({ advance: 'P3D' })
    const later = await api.readSurveys(query)
    expect(later.surveys.length).toBeGreaterThan(0)
    await api.moveTime({ set: START_AT })
    expect((await api.readSurveys(query)).surveys).toEqual([])
  })

  test('parameters that the document does not name are ignored', async () => {
    await using api = await startApi({ surveys: 3 })
    expect((await api.readSurveys('?colour=red&per_page=1')).surveys.length).toBe(3)
  })
})
