import { once } from 'node:events'
import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHOICES } from '../../../src/reference-server/docs/openapi.js'
import { flagOf, OPTIONS } from '../../../src/reference-server/option-texts.js'
import { asObject, type JsonObject } from '../../support/api/reference-api.js'
import { type Api, START_AT, startApi } from './support/api.js'

let api: Api
let document: JsonObject

const documentOf = async ({ control }: Api): Promise<JsonObject> =>
  asObject((await control('/openapi.json')).json)

beforeAll(async () => {
  api = await startApi({ surveys: 60, accounts: 2, pageSize: 20 })
  document = await documentOf(api)
})
afterAll(() => api.server.close())

const at = (document: unknown, ...place: readonly string[]): unknown =>
  place.reduce<unknown>((part, name) => asObject(part)[name], document)

const descriptionOf = (document: JsonObject): string => String(at(document, 'info', 'description'))

/** The request to copy of each endpoint, and the example of its answer. */
const examplesOf = (document: JsonObject) =>
  Object.entries(asObject(document.paths))
    .filter(([path]) => !path.startsWith('/_reference'))
    .map(([, item]) => {
      const operation = asObject(at(item, 'get'))
      const [, command = ''] = /```bash\n(.*?)\n```/s.exec(String(operation.description)) ?? []
      const content = asObject(at(operation, 'responses', '200', 'content', 'application/json'))
      return { description: String(operation.description), command, answer: content.example }
    })

describe('the OpenAPI document', () => {
  test('has the choices, the options and the settings of this server', () => {
    const description = descriptionOf(document)
    for (const sentence of Object.values(CHOICES).flat()) expect(description).toContain(`- ${sentence}\n`)
    for (const [name, { default: usual, describe }] of Object.entries(OPTIONS)) {
      const shownDefault = usual === null ? 'none' : `\`${usual}\``
      expect(description).toContain(`| \`--${flagOf(name)}\` | ${shownDefault} | ${describe} |`)
    }
    const [, block = ''] = /```json\n(.*?)\n```/s.exec(description) ?? []
    const settings = JSON.parse(block)
    const flags = Object.keys(OPTIONS).map((name) => `--${flagOf(name)}`)
    expect(Object.keys(settings).sort()).toEqual(flags.sort())
    expect(settings).toMatchObject({
      ...{ '--page-size': '20', '--rate-limit': '60/60000ms', '--start-at': START_AT },
      ...{ '--clock': 'frozen', '--faults': 'none' },
    })
  })

  test('each example request gets the example answer', async () => {
    const examples = examplesOf(document)
    expect(examples.length).toBe(3)
    for (const { command, answer } of examples) {
      const url = /'(http[^']+)'$/.exec(command)?.[1] ?? ''
      const headers = Object.fromEntries(
        [...command.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]),
      )
      expect(headers).toEqual(api.credentials())
      const { status, json } = await api.fetchText(url, { headers })
      expect([url, status]).toEqual([url, 200])
      const first = JSON.stringify(json, (_, value) => (Array.isArray(value) ? value.slice(0, 1) : value))
      expect(JSON.stringify(answer)).toBe(first)
    }
  })

  test.each([
    ['POST', '/time', { now: '2026-03-01T06:00:00Z', clock: 'frozen' }],
    ['PUT', '/faults', [expect.objectContaining({ matched: 0, acted: 0 })]],
  ])('a body to copy is one that the route takes: %s %s', async (method, path, answer) => {
    await using own = await startApi({ surveys: 1 })
    const operation = at(await documentOf(own), 'paths', `/_reference${path}`, method.toLowerCase())
    const schema = asObject(at(operation, 'requestBody', 'content', 'application/json', 'schema'))
    const [body] = Array.isArray(schema.examples) ? schema.examples : []
    const { status, json } = await own.control(path, { method, body: JSON.stringify(body) })
    expect([status, json]).toEqual([200, answer])
  })

  test('a world without surveys has a document without example answers', async () => {
    await using bare = await startApi({ surveys: 0 })
    const [list, sources, progress] = examplesOf(await documentOf(bare))
    expect(list?.answer).toMatchObject({ surveys: [] })
    expect(sources?.command).toContain('/surveys/SURVEY_ID/sample_sources')
    for (const example of [sources, progress]) {
      expect(example?.answer).toBeUndefined()
      expect(example?.description).toContain('This world has no survey yet.')
    }
  })

  test('an invalid Host is refused and not repeated', async () => {
    const { port } = new URL(api.server.origin)
    for (const host of [`"><script>`, `x' y`, 'a/b', 'user@host']) {
      const sent = request({ port, path: '/_reference/openapi.json', headers: { host } }).end()
      const [answer] = await once(sent, 'response')
      expect(answer.statusCode).toBe(403)
      expect(JSON.stringify(await json(answer))).not.toContain(host)
    }
  })

  test('/_reference and /_reference/ redirect to it', async () => {
    for (const path of ['', '/']) {
      const response = await fetch(`${api.server.origin}/_reference${path}`)
      expect([response.status, response.url]).toEqual([200, `${api.server.origin}/_reference/openapi.json`])
    }
  })
})
