import { once } from 'node:events'
import { get } from 'node:http'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { start } from '../../support/command/command.js'
import { micros, START_AT, startApi } from './support/api.js'

describe('the world is a pure function of seed and clock', () => {
  test('two servers with the same seed answer the same bytes at the same time, whatever the requests before', async () => {
    await using one = await startApi({ surveys: 120, seed: 5 })
    await using other = await startApi({ surveys: 120, seed: 5 })
    await one.moveTime({ advance: 'P40DT3H' })
    await other.moveTime({ advance: 'P300D' })
    await other.readTruth()
    await other.moveTime({ set: '2026-04-10T03:00:00Z' })
    expect((await other.control('/truth')).text).toBe((await one.control('/truth')).text)
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
    expect(pagination).toMatchObject({ next_page: null, total_pages: 2000, total_count: 100_000 })
    expect(surveys.length).toBe(50)
    const filtered = await api.readSurveys('?updated_since=2026-02-28T00:00:00Z')
    expect(filtered.pagination.total_count).toBeGreaterThan(50)
    const moments = [...surveys].map(({ created_at }) => micros(created_at))
    expect(moments).toEqual(moments.toSorted((one, other) => other - one))
  })
})

interface RawAnswer {
  readonly status: number | undefined
  /** As they were sent, in order, without those of the connection. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

const CONNECTION_HEADERS = ['connection', 'keep-alive', 'transfer-encoding']

const askRaw = async (url: string, headers: Record<string, string>): Promise<RawAnswer> => {
  const [response] = await once(get(url, { headers, agent: false }), 'response')
  const pairs: string[] = []
  for (let place = 0; place < response.rawHeaders.length; place += 2) {
    const [name, value] = response.rawHeaders.slice(place, place + 2)
    if (!CONNECTION_HEADERS.includes(name.toLowerCase())) pairs.push(`${name}: ${value}`)
  }
  return { status: response.statusCode, headers: pairs, body: await buffer(response) }
}

interface Address {
  readonly baseUrl: string
  readonly id: number
  readonly token: string
}

/** The answers to the same requests in the same order, compressed and not, with refusals. */
const askAll = async ({ baseUrl, id, token }: Address, paths: readonly string[]): Promise<RawAnswer[]> => {
  const answers: RawAnswer[] = []
  for (const path of paths) {
    for (const encoding of ['gzip', 'identity']) {
      const credentials = { 'Authorization-ID': String(id), 'Authorization-Token': token }
      answers.push(await askRaw(`${baseUrl}${path}`, { ...credentials, 'Accept-Encoding': encoding }))
    }
  }
  return answers
}

const greeting = z.object({
  base_url: z.string(),
  accounts: z.array(z.object({ id: z.int(), token: z.string() })),
})

test('two processes with the same seed and clock answer the same bytes, with headers; another seed does not', async () => {
  await using api = await startApi({ surveys: 60, seed: 7 })
  const [survey] = (await api.readTruth()).accounts[0]!.surveys.filter(
    ({ sample_sources, fieldwork_progress }) =>
      sample_sources.length > 1 && fieldwork_progress.interviews_count > 0,
  )
  const paths = [
    '/surveys',
    '/surveys?page=2',
    '/surveys?status[]=complete&updated_since=2026-01-01T00:00:00Z',
    `/surveys/${survey!.id}/sample_sources`,
    `/surveys/${survey!.id}/fieldwork_progress`,
    `/surveys/${survey!.id}/fieldwork_progress?sample_source_id=${survey!.sample_sources[0]!.id}`,
    '/surveys?page=0',
    '/surveys/1/sample_sources',
    '/nowhere',
  ]
  const here = await askAll({ baseUrl: api.server.baseUrl, ...api.server.accounts[0]! }, paths)
  expect(here.filter(({ status }) => status === 200).length).toBe(12)
  expect(here.some(({ headers }) => headers.includes('content-encoding: gzip'))).toBe(true)

  const flags = `--port 0 --seed 7 --surveys 60 --clock frozen --rate-window none --start-at ${START_AT}`
  const { child, ended } = start(['reference-server', ...flags.split(' ')])
  try {
    const [line] = await once(createInterface({ input: child.stdout! }), 'line')
    const { base_url, accounts } = greeting.parse(JSON.parse(line))
    expect(await askAll({ baseUrl: base_url, ...accounts[0]! }, paths)).toEqual(here)
  } finally {
    child.kill('SIGTERM')
    await ended
  }

  await using other = await startApi({ surveys: 60, seed: 8 })
  const [elsewhere] = await askAll({ baseUrl: other.server.baseUrl, ...other.server.accounts[0]! }, paths)
  expect(elsewhere!.status).toBe(200)
  expect(elsewhere!.body.equals(here[0]!.body)).toBe(false)
})
