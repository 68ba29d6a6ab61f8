import { once } from 'node:events'
import { get } from 'node:http'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { start } from '../../support/command/command.js'
import { START_AT, startApi } from './support/api.js'

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
