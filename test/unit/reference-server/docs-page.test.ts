import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHOICES } from '../../../src/reference-server/docs/openapi.js'
import { flagOf, OPTIONS } from '../../../src/reference-server/option-texts.js'
import {
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  PAGINATION,
  SAMPLE_SOURCE,
  STATUS_ENTRY,
  SURVEY,
} from '../../support/api/api-document.js'
import { asObject, asObjects, type JsonObject } from '../../support/api/reference-api.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { type ChromiumPage, hasChromium, openInChromium } from '../../support/process/chromium.js'
import { SLOW } from '../../support/suite/slow.js'
import { type Api, START_AT, startApi } from './support/api.js'

let api: Api
/** The document that the page shows. */
let shown: JsonObject
/** The document for programs. */
let plain: JsonObject

const shownBy = async ({ server }: Api): Promise<JsonObject> =>
  asObject(await (await fetch(`${server.origin}/_reference/docs/openapi.json`)).json())

beforeAll(async () => {
  api = await startApi({ surveys: 60, accounts: 2, pageSize: 20 })
  shown = await shownBy(api)
  plain = asObject((await api.control('/openapi.json')).json)
})
afterAll(() => api.server.close())

const at = (document: unknown, ...place: readonly string[]): unknown =>
  place.reduce<unknown>((part, name) => asObject(part)[name], document)

/** Every value that is neither a list nor an object, by its place. */
const leavesOf = (part: unknown, place = ''): Map<string, unknown> =>
  typeof part === 'object' && part !== null
    ? new Map(Object.entries(part).flatMap(([name, value]) => [...leavesOf(value, `${place}/${name}`)]))
    : new Map([[place, part]])

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

describe('the document of the docs page', () => {
  test('is the document for programs, with examples and the settings of this server', () => {
    const [more, less] = [leavesOf(shown), leavesOf(plain)]
    const isAdded = (place: string): boolean => !less.has(place) || more.get(place) !== less.get(place)
    const added = [...more.keys()].filter(isAdded).map((place) => place.replace(/\/example\/.*/, '/example'))
    const ofEndpoint = (path: string) => [
      `/paths${path}/get/description`,
      `/paths${path}/get/responses/200/content/application/json/example`,
    ]
    const endpoints = ['', '/{SURVEY_ID}/sample_sources', '/{SURVEY_ID}/fieldwork_progress']
    const expected = endpoints.flatMap((path) => ofEndpoint(`//surveys${path}`))
    expect(new Set(added)).toEqual(new Set(['/info/description', ...expected]))
    for (const [place, value] of less) expect(String(more.get(place)).startsWith(String(value))).toBe(true)
  })

  test('has the choices, the options and the settings of this server', () => {
    for (const description of [descriptionOf(shown), descriptionOf(plain)]) {
      for (const sentence of Object.values(CHOICES).flat()) expect(description).toContain(`- ${sentence}\n`)
      for (const [name, { default: usual, describe }] of Object.entries(OPTIONS)) {
        const shownDefault = usual === null ? 'none' : `\`${usual}\``
        expect(description).toContain(`| \`--${flagOf(name)}\` | ${shownDefault} | ${describe} |`)
      }
    }
    const [, block = ''] = /```json\n(.*?)\n```/s.exec(descriptionOf(shown)) ?? []
    const settings = JSON.parse(block)
    const flags = Object.keys(OPTIONS).map((name) => `--${flagOf(name)}`)
    expect(Object.keys(settings).sort()).toEqual(flags.sort())
    expect(settings).toMatchObject({
      ...{ '--page-size': '20', '--rate-limit': '60/60000ms', '--start-at': START_AT },
      ...{ '--clock': 'frozen', '--faults': 'none' },
    })
  })

  test('each example request gets the example answer', async () => {
    const examples = examplesOf(shown)
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
    const operation = at(await shownBy(own), 'paths', `/_reference${path}`, method.toLowerCase())
    const schema = asObject(at(operation, 'requestBody', 'content', 'application/json', 'schema'))
    const [body] = Array.isArray(schema.examples) ? schema.examples : []
    const { status, json } = await own.control(path, { method, body: JSON.stringify(body) })
    expect([status, json]).toEqual([200, answer])
  })

  test('a world without surveys has a document without example answers', async () => {
    await using bare = await startApi({ surveys: 0 })
    const [list, sources, progress] = examplesOf(await shownBy(bare))
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
      const sent = request({ port, path: '/_reference/docs/openapi.json', headers: { host } }).end()
      const [answer] = await once(sent, 'response')
      expect(answer.statusCode).toBe(403)
      expect(JSON.stringify(await json(answer))).not.toContain(host)
    }
  })
})

describe('GET /_reference/docs', () => {
  test('loads only files of this server, and its policy makes browsers enforce that', async () => {
    const { text: page, headers } = await api.control('/docs')
    const addresses = [...page.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address)
    const files = addresses.filter((address) => address.startsWith('docs/'))
    expect(addresses.filter((address) => !files.includes(address))).toEqual(['data:,', 'openapi.json'])
    expect(page).not.toMatch(/<script(?! src="docs\/[\w.-]+"><\/script>)|<style|\son\w+=/i)
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'; /)
    expect(headers.get('content-security-policy')).not.toMatch(/https?:|\*|unsafe-eval/)
    const types = await Promise.all(
      files.map(async (file) => {
        const response = await fetch(`${api.server.origin}/_reference/${file}`)
        expect((await response.text()).length).toBeGreaterThan(100)
        return [file, response.status, response.headers.get('content-type')]
      }),
    )
    expect(types).toEqual([
      ['docs/swagger-ui.css', 200, 'text/css; charset=utf-8'],
      ['docs/swagger-ui-bundle.js', 200, 'text/javascript; charset=utf-8'],
      ['docs/start.js', 200, 'text/javascript; charset=utf-8'],
    ])
  })

  test('the server serves no other file of the package', async () => {
    for (const name of ['swagger-ui.js', 'index.html', '..%2Fpackage.json', '../../../package.json']) {
      const { status } = await fetch(`${api.server.origin}/_reference/docs/${name}`)
      expect([name, status]).toEqual([name, 404])
    }
  })

  test('/_reference and /_reference/ redirect to it', async () => {
    const { text: page } = await api.control('/docs')
    for (const path of ['', '/']) {
      const response = await fetch(`${api.server.origin}/_reference${path}`)
      expect([response.status, response.url]).toEqual([200, `${api.server.origin}/_reference/docs`])
      expect(await response.text()).toBe(page)
    }
  })
})

/** Milliseconds: the viewer draws all operations in 10 s on an idle machine. */
const DRAWN_WITHIN_MS = 300_000

describe.skipIf(!hasChromium || !SLOW)(
  `in Chromium${hasChromium ? '' : ' (skipped: no chromium here)'}`,
  { timeout: DRAWN_WITHIN_MS },
  () => {
    const click = (selector: string) =>
      `document.querySelectorAll('${selector}').forEach((each) => each.click()) ?? true`
    const TEXT = 'document.body.innerText'
    const READY = `document.querySelectorAll('.opblock').length > 0`

    const documentedOperations = () =>
      Object.entries(asObject(shown.paths)).flatMap(([path, item]) =>
        Object.entries(asObject(item)).flatMap(([method, operation]) =>
          method === 'servers'
            ? []
            : {
                name: `${method.toUpperCase()} ${path}`,
                parameters: asObjects(at(operation, 'parameters')).map(({ name }) => name),
                statuses: Object.keys(asObject(at(operation, 'responses'))),
              },
        ),
      )

    let page: ChromiumPage

    beforeAll(async () => {
      page = await openInChromium(`${api.server.origin}/_reference/docs`)
      await page.waitFor(READY)
    }, DRAWN_WITHIN_MS)
    afterAll(() => page[Symbol.asyncDispose]())

    test('the page shows every field with its type, null and meaning, and every value of an enumeration', async () => {
      const names = ['Survey', 'SampleSource', 'FieldworkProgress', 'InterviewCountByStatus', 'StatusCount']
      names.push('Pagination', 'SurveyStatus', 'TransitionStyle', 'Provider')
      await page.waitFor(`[...document.querySelectorAll('.models [data-json-schema-level="0"]')]
      .filter((each) => ${JSON.stringify(names)}.includes(each.querySelector('.json-schema-2020-12__title').textContent))
      .map((each) => each.querySelector('.json-schema-2020-12-expand-deep-button').click()).length === ${names.length}`)
      const text = String(
        await page.waitFor(
          `document.querySelector('.models').textContent.includes('The survey is being created') && document.querySelector('.models').textContent`,
        ),
      )
      const titles = await page.waitFor(
        `[...document.querySelectorAll('.models .json-schema-2020-12__title')].map((each) => each.textContent)`,
      )
      expect(titles).toEqual(expect.arrayContaining([...INTERVIEW_STATUSES]))
      for (const documented of [SURVEY, SAMPLE_SOURCE, FIELDWORK_PROGRESS, STATUS_ENTRY, PAGINATION]) {
        for (const [name, { values = [] }] of Object.entries(documented)) {
          expect(titles).toEqual(expect.arrayContaining([name]))
          for (const value of values) expect(text).toContain(`"${value}"`)
        }
      }
      expect(text).toContain('project_idCollapse allstring | nullCustomizable identifier set by the user')
      expect(text).toContain('TransitionStyleCollapse allstringQuestionnaire display mode')
      expect(text).toContain('draft"The survey is being created"')
      expect(text).toContain(
        'incidence_rateCollapse alldeprecated(number | null)complete / (complete + screen_out)',
      )
    })

    test('the page shows every operation, with its parameters and statuses', async () => {
      const operations = documentedOperations()
      await page.waitFor(click('.opblock-summary-control'))
      await page.waitFor(`document.querySelectorAll('.responses-wrapper').length === ${operations.length}`)
      const drawn = await page.waitFor(`[...document.querySelectorAll('.opblock')].map((each) => ({
      name: [each.querySelector('.opblock-summary-method').textContent, each.querySelector('[data-path]').dataset.path].join(' '),
      parameters: [...each.querySelectorAll('[data-param-name]')].map((row) => row.dataset.paramName),
      statuses: [...each.querySelectorAll('.response[data-code]')].map((row) => row.dataset.code),
    }))`)
      expect(drawn).toEqual(operations)
      expect(operations.length).toBeGreaterThan(10)
    })

    test('the page shows examples, choices, options and settings', async () => {
      const text = String(await page.waitFor(TEXT))
      for (const { command } of examplesOf(shown)) expect(text).toContain(command)
      for (const sentence of Object.values(CHOICES).flat())
        expect(text).toContain(sentence.replaceAll('`', ''))
      for (const [name, { describe }] of Object.entries(OPTIONS)) {
        expect(text).toMatch(new RegExp(`\n--${flagOf(name)}\t`))
        expect(text).toContain(`\t${describe}\n`)
      }
      for (const words of [
        ...['Authorization-ID', 'Authorization-Token', 'Retry-After', 'Allow', 'Date'],
        ...['"--page-size": "20"', '"advance": "PT6H"'],
      ]) {
        expect(text).toContain(words)
      }
    })

    test('a user can try a request on the page', async () => {
      const operation = `document.querySelector('#operations-Reference_server-readTime')`
      await page.waitFor(`${operation}.querySelector('.try-out__btn').click() ?? true`)
      await page.waitFor(`${operation}.querySelector('.execute') !== null`)
      await page.waitFor(`${operation}.querySelector('.execute').click() ?? true`)
      const answer = await page.waitFor(
        `${operation}.querySelector('.live-responses-table .highlight-code code')?.textContent`,
      )
      expect(JSON.parse(String(answer))).toEqual((await api.control('/time')).json)
    })

    test('the page requested nothing from another host and logged no error', () => {
      const elsewhere = page.requests.filter((url) => !url.startsWith(`${api.server.origin}/_reference/`))
      expect(elsewhere.filter((url) => !url.startsWith('data:'))).toEqual([])
      expect(page.requests.length).toBeGreaterThan(5)
      expect(page.problems).toEqual([])
    })

    test('the page shows text from outside as text, never as markup', async () => {
      const name = 'a`"\'&amp;|*<img src=x onerror=alert(1)><script>alert(1)<!--.yaml'
      const faults = join(await temporaryDirectory(), name)
      await writeFile(faults, '[]')
      await using own = await startApi({ surveys: 1, faults })
      await using hostile = await openInChromium(`${own.server.origin}/_reference/docs`)
      await hostile.waitFor(READY)
      expect(await hostile.waitFor(TEXT)).toContain(JSON.stringify(faults))
      expect(
        await hostile.waitFor(`[...document.querySelectorAll('script')].map(({ src }) => src || 'inline')`),
      ).toEqual(
        ['swagger-ui-bundle.js', 'start.js'].map((file) => `${own.server.origin}/_reference/docs/${file}`),
      )
      expect(hostile.problems).toEqual([])
    })
  },
)
