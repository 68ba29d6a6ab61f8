import { describe, expect, test } from 'vitest'
import { micros, START_AT, startApi } from './support/api.js'
import { askBytes } from './support/faulty.js'

describe('the world is a pure function of seed and clock', () => {
  test('two servers with the same seed answer the same bytes and headers at the same time, whatever the requests before', async () => {
    await using one = await startApi({ surveys: 20, seed: 5, pageSize: 10 })
    await using other = await startApi({ surveys: 20, seed: 5, pageSize: 10 })
    await one.moveTime({ advance: 'P40DT3H' })
    await other.moveTime({ advance: 'P300D' })
    await other.readTruth()
    await other.moveTime({ set: '2026-04-10T03:00:00Z' })
    expect((await other.control('/truth')).text).toBe((await one.control('/truth')).text)
    const { id, sample_sources } = (await one.readTruth()).accounts[0]!.surveys.find(
      ({ sample_sources, fieldwork_progress }) =>
        sample_sources.length > 1 && fieldwork_progress.interviews_count > 0,
    )!
    const paths = [
      ...['/surveys', '/surveys?page=2', '/surveys?status[]=complete&updated_since=2026-01-01T00:00:00Z'],
      ...[`/surveys/${id}/sample_sources`, `/surveys/${id}/fieldwork_progress`],
      `/surveys/${id}/fieldwork_progress?sample_source_id=${sample_sources[0]!.id}`,
      ...['/surveys?page=0', '/surveys/1/sample_sources', '/nowhere'],
    ]
    for (const path of paths)
      for (const encoding of ['gzip', 'identity']) {
        const accepted = { 'accept-encoding': encoding }
        expect(await askBytes(other, path, accepted)).toEqual(await askBytes(one, path, accepted))
      }
    await using another = await startApi({ surveys: 20, seed: 8, pageSize: 10 })
    expect((await another.ask('/surveys')).text).not.toBe((await one.ask('/surveys')).text)
  })

  test('an account’s world does not depend on how many accounts there are', async () => {
    await using one = await startApi({ surveys: 30, accounts: 1 })
    await using three = await startApi({ surveys: 30, accounts: 3 })
    expect((await three.ask('/surveys')).text).toBe((await one.ask('/surveys')).text)
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
    await using api = await startApi({ surveys: 30 })
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
    expect(pagination).toMatchObject({ next_page: null, total_pages: 2000, total_count: 100_000 })
    expect(surveys.length).toBe(50)
    const filtered = await api.readSurveys('?updated_since=2026-02-28T00:00:00Z')
    expect(filtered.pagination.total_count).toBeGreaterThan(50)
    const moments = [...surveys].map(({ created_at }) => micros(created_at))
    expect(moments).toEqual(moments.toSorted((one, other) => other - one))
  })
})
