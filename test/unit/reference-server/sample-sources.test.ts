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

  test('an unknown survey is 404, a wrong page 400', async () => {
    await using api = await startApi({ surveys: 3 })
    const { id } = (await api.readSurveys()).surveys[0]!
    expect((await api.ask(`/surveys/${id + 100_000}/sample_sources`)).status).toBe(404)
    expect((await api.ask('/surveys/abc/sample_sources')).status).toBe(404)
    expect((await api.ask(`/surveys/${'9'.repeat(90)}/sample_sources`)).status).toBe(404)
    expect((await api.ask(`/surveys/${id}/sample_sources?page=0`)).status).toBe(400)
  })

  test('a source is listed from its creation on, and its edits move its own updated_at, not the survey’s', async () => {
    await using api = await startApi({ surveys: 200, pageSize: 1000 })
    const coming = await api.readChanges('2026-03-01T00:00:00Z', '2026-03-20T00:00:00Z')
    const before = (at: string) => new Date(Date.parse(at) - 1000).toISOString()
    const after = (at: string) => new Date(Date.parse(at) + 1).toISOString()
    const known = new Set((await api.readSurveys()).surveys.map(({ id }) => id))
    const quiet = (what: string) =>
      coming.find(
        (change) =>
          change.what === what &&
          known.has(change.survey_id) &&
          coming.every(
            (other) =>
              other === change ||
              other.survey_id !== change.survey_id ||
              Math.abs(Date.parse(other.at) - Date.parse(change.at)) > 2000,
          ),
      )!
    const state = async (surveyId: number) => {
      const survey = (await api.readSurveys()).surveys.find(({ id }) => id === surveyId)!
      return { sources: (await api.readSources(surveyId)).sample_sources, updated_at: survey.updated_at }
    }
    for (const what of ['source_added', 'source_changed']) {
      const change = quiet(what)
      await api.moveTime({ set: before(change.at) })
      const earlier = await state(change.survey_id)
      await api.moveTime({ set: after(change.at) })
      const later = await state(change.survey_id)
      expect(later.updated_at).toBe(earlier.updated_at)
      const moved = later.sources.filter(
        (source) => !earlier.sources.some((old) => JSON.stringify(old) === JSON.stringify(source)),
      )
      expect(moved.map(({ id }) => id)).toEqual([change.sample_source_id])
      expect(micros(moved[0]!.updated_at)).toBe(micros(change.at))
      expect(later.sources.length - earlier.sources.length).toBe(what === 'source_added' ? 1 : 0)
    }
  })
})
