import { describe, expect, test } from 'vitest'
import { type Api, micros, START_AT, startApi } from './support/api.js'

const OFFSET = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(Z|[+-]\d{2}:\d{2})$/

/** A walk through the whole API at one time, as text. */
const everything = async (api: Api): Promise<string> => {
  const texts: string[] = []
  for (let page = 1; page <= 3; page++) {
    const answer = await api.ask(`/surveys?page=${page}`)
    texts.push(answer.text)
  }
  for (const { id } of (await api.readSurveys()).surveys.slice(0, 15)) {
    texts.push((await api.ask(`/surveys/${id}/sample_sources`)).text)
    texts.push((await api.ask(`/surveys/${id}/fieldwork_progress`)).text)
  }
  return texts.join('\n')
}

describe('the world is a pure function of seed and clock', () => {
  test('two servers with the same seed answer the same bytes at the same time, whatever the requests before', async () => {
    await using one = await startApi({ surveys: 120, seed: 5 })
    await using other = await startApi({ surveys: 120, seed: 5 })
    await one.moveTime({ advance: 'P40DT3H' })
    await other.moveTime({ advance: 'P300D' })
    await everything(other)
    await other.moveTime({ set: '2026-04-10T03:00:00Z' })
    expect(await everything(other)).toBe(await everything(one))
    expect((await other.control('/truth')).text).toBe((await one.control('/truth')).text)
  })

  test('another seed is another world', async () => {
    await using one = await startApi({ surveys: 30, seed: 5 })
    await using other = await startApi({ surveys: 30, seed: 6 })
    expect((await one.ask('/surveys')).text).not.toBe((await other.ask('/surveys')).text)
  })

  test('an account’s world does not depend on how many accounts there are', async () => {
    await using one = await startApi({ surveys: 30, accounts: 1 })
    await using three = await startApi({ surveys: 30, accounts: 3 })
    expect((await three.ask('/surveys')).text).toBe((await one.ask('/surveys')).text)
  })

  test('answers at the same time are byte-identical, and going back restores them', async () => {
    await using api = await startApi({ surveys: 80 })
    const first = await everything(api)
    expect(await everything(api)).toBe(first)
    await api.moveTime({ advance: 'P1W' })
    expect(await everything(api)).not.toBe(first)
    await api.moveTime({ set: START_AT })
    expect(await everything(api)).toBe(first)
  })

  test('`surveys` exist at the start, more later and fewer before', async () => {
    await using api = await startApi({ surveys: 100 })
    const total = async () => (await api.readSurveys()).pagination.total_count
    expect(await total()).toBe(100)
    await api.moveTime({ advance: 'P30D' })
    expect(await total()).toBeGreaterThan(101)
    await api.moveTime({ set: '2025-12-01T00:00:00Z' })
    expect(await total()).toBeLessThan(100)
    await api.moveTime({ set: '2000-01-01T00:00:00Z' })
    expect(await total()).toBe(0)
  })

  test('moving the clock between two pages shifts them: the survey at the border is on both', async () => {
    await using api = await startApi({ surveys: 40, pageSize: 10 })
    const created = (await api.readChanges(START_AT, '2026-06-01T00:00:00Z')).find(
      ({ what }) => what === 'created',
    )!
    await api.moveTime({ set: new Date(Date.parse(created.at) - 1000).toISOString() })
    const first = await api.readSurveys('?page=1')
    await api.moveTime({ advance: 'PT2S' })
    const second = await api.readSurveys('?page=2')
    expect(second.surveys[0]!.id).toBe(first.surveys[9]!.id)
    expect(second.pagination.total_count).toBe(first.pagination.total_count + 1)
  })

  test('new interviews do not move a survey’s updated_at', async () => {
    await using api = await startApi({ surveys: 100 })
    const changing = new Set(
      (await api.readChanges(START_AT, '2026-03-02T00:00:00Z')).map(({ survey_id }) => survey_id),
    )
    const before = (await api.readTruth()).accounts[0]!.surveys
    await api.moveTime({ advance: 'P1D' })
    const after = (await api.readTruth()).accounts[0]!.surveys
    const grown = before.filter((survey) => {
      const later = after.find(({ id }) => id === survey.id)!
      return (
        !changing.has(survey.id) &&
        later.fieldwork_progress.interviews_count > survey.fieldwork_progress.interviews_count
      )
    })
    expect(grown.length).toBeGreaterThan(0)
    for (const survey of grown) {
      const later = after.find(({ id }) => id === survey.id)!
      expect({ ...later, fieldwork_progress: 0, sample_source_progress: 0 }).toEqual({
        ...survey,
        fieldwork_progress: 0,
        sample_source_progress: 0,
      })
    }
  })

  test('a server with a hundred thousand surveys starts and serves the last page', async () => {
    await using api = await startApi({ surveys: 100_000 })
    const { surveys, pagination } = await api.readSurveys('?page=2000')
    expect(pagination).toEqual({
      current_page: 2000,
      next_page: null,
      prev_page: 1999,
      total_pages: 2000,
      total_count: 100_000,
    })
    expect(surveys.length).toBe(50)
    const filtered = await api.readSurveys('?updated_since=2026-02-28T00:00:00Z')
    expect(filtered.pagination.total_count).toBeGreaterThan(50)
    const moments = [...surveys].map(({ created_at }) => micros(created_at))
    expect(moments).toEqual(moments.toSorted((one, other) => other - one))
  })
})

describe('API document, "Resources and their fields": what a client has to handle', () => {
  test('every survey status, provider and transition style occurs', async () => {
    await using api = await startApi({ surveys: 600, pageSize: 1000 })
    const surveys = (await api.readTruth()).accounts[0]!.surveys
    expect(new Set(surveys.map(({ status }) => status))).toEqual(
      new Set([
        'draft',
        'pending',
        'fieldwork',
        'deviating_from_specs',
        'data_processing',
        'complete',
        'user_demo',
      ]),
    )
    expect(new Set(surveys.map((survey) => survey.transition_style)).size).toBe(2)
    const sources = surveys.flatMap(({ sample_sources }) => sample_sources)
    expect(new Set(sources.map(({ provider }) => provider)).size).toBe(4)
    expect(sources.every(({ country_code }) => /^[A-Z]{2}$/.test(country_code))).toBe(true)
    expect(new Set(sources.map(({ id }) => id)).size).toBe(sources.length)
    expect(surveys.every((one) => one.respondent_iterations_count >= one.respondent_questions_count)).toBe(
      true,
    )
  })

  test('times have several kinds of offset and fraction, and updated_at is never before created_at', async () => {
    await using api = await startApi({ surveys: 600, pageSize: 1000 })
    const { surveys } = await api.readSurveys()
    const texts = surveys.flatMap(({ created_at, updated_at }) => [created_at, updated_at])
    expect(texts.every((text) => OFFSET.test(text))).toBe(true)
    const offsets = new Set(texts.map((text) => OFFSET.exec(text)![1]))
    for (const offset of ['Z', '+00:00', '+05:30', '-08:00']) expect(offsets).toContain(offset)
    expect(texts.some((text) => /\.\d{6}/.test(text))).toBe(true)
    expect(surveys.every((survey) => micros(survey.updated_at) >= micros(survey.created_at))).toBe(true)
  })

  test('titles are one line, in several scripts, with quotes and emoji; project_id may be null or look like a number', async () => {
    await using api = await startApi({ surveys: 600, pageSize: 1000 })
    const { surveys } = await api.readSurveys()
    const titles = surveys.map(({ title }) => title)
    expect(titles.some((title) => title.includes('\n'))).toBe(false)
    for (const form of [/"/, /'/, /\\/, /\p{Emoji_Presentation}/u, /\p{Script=Han}/u, /\p{Script=Arabic}/u]) {
      expect(titles.some((title) => form.test(title))).toBe(true)
    }
    expect(surveys.some(({ project_id }) => project_id === null)).toBe(true)
    expect(surveys.some(({ project_id }) => project_id?.match(/^0\d+$/))).toBe(true)
  })

  test('ids are below, around and far beyond 2^31, and never beyond 2^53', async () => {
    await using api = await startApi({ surveys: 50, accounts: 3, pageSize: 100 })
    const ids = await Promise.all(
      [0, 1, 2].map(async (account) => (await api.readSurveys('', account)).surveys.map(({ id }) => id)),
    )
    const limit = 2 ** 31
    expect(ids[0]!.some((id) => id < limit) && ids[0]!.some((id) => id > limit)).toBe(true)
    expect(ids[1]!.every((id) => id < limit)).toBe(true)
    expect(ids[2]!.every((id) => id > 2 ** 40 && Number.isSafeInteger(id))).toBe(true)
  })
})
