import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHOICES } from '../../src/reference-server/docs/choices.js'
import { html, prose } from '../../src/reference-server/docs/html.js'
import { openApiDocument } from '../../src/reference-server/docs/openapi.js'
import { docsPage } from '../../src/reference-server/docs/page.js'
import { flagOf, OPTIONS } from '../../src/reference-server/options.js'
import {
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  PAGINATION,
  SAMPLE_SOURCE,
  STATUS_ENTRY,
  SURVEY,
} from '../contract/api-document.js'
import { type Api, START_AT, startApi } from './support/api.js'

let api: Api
let page: string

beforeAll(async () => {
  api = await startApi({ surveys: 60, accounts: 2, pageSize: 20 })
  page = (await api.control('/docs')).text
})
afterAll(() => api.server.close())

/** The text of `source` as a browser would show it. */
const shown = (source: string): string =>
  source
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')

const codes = (source: string): Set<string> =>
  new Set([...source.matchAll(/<code>(.*?)<\/code>/gs)].map(([, code = '']) => shown(code)))

const examples = (source: string): string[] =>
  [...source.matchAll(/<pre>(.*?)<\/pre>/gs)].map(([, example = '']) => shown(example))

describe('GET /_reference/docs', () => {
  test('names every endpoint, parameter, field, enumeration value, status and header', () => {
    const named = codes(page)
    for (const { values = [] } of [...Object.values(SURVEY), ...Object.values(SAMPLE_SOURCE)]) {
      for (const value of values) expect(named).toContain(value)
    }
    for (const fields of [SURVEY, SAMPLE_SOURCE, FIELDWORK_PROGRESS, STATUS_ENTRY, PAGINATION]) {
      for (const name of Object.keys(fields)) expect(named).toContain(name)
    }
    for (const status of INTERVIEW_STATUSES) expect(named).toContain(status)
    for (const name of [
      'GET /api/v1/surveys',
      'GET /api/v1/surveys/{SURVEY_ID}/sample_sources',
      'GET /api/v1/surveys/{SURVEY_ID}/fieldwork_progress',
      'GET /_reference/time',
      'POST /_reference/time',
      'GET /_reference/openapi.json',
      ...['status', 'status[]', 'updated_since', 'page', 'SURVEY_ID'],
      ...['sample_source_id', 'started_after', 'started_before'],
      ...['Authorization-ID', 'Authorization-Token', 'Retry-After', 'Date', 'advance', 'set'],
    ]) {
      expect(named).toContain(name)
    }
    for (const status of [400, 401, 404, 405, 429]) expect(page).toContain(`>${status}</td>`)
  })

  test('says what this server chose, and how it is set', () => {
    const words = shown(page)
    for (const sentence of Object.values(CHOICES).flat()) {
      expect(words).toContain(sentence.replaceAll('`', ''))
    }
    for (const [name, { describe }] of Object.entries(OPTIONS)) {
      expect(page).toContain(`<code>--${flagOf(name)}</code>`)
      expect(words).toContain(describe)
    }
    const values = codes(page)
    for (const value of ['20', '60/60000ms', START_AT, 'frozen']) expect(values).toContain(value)
  })

  test('a table row for each field says its type, null, and meaning', () => {
    const row = (name: string) =>
      [...page.matchAll(/<tr>(.*?)<\/tr>/gs)]
        .map(([, cells = '']) =>
          [...cells.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => shown(cell)),
        )
        .find(([first]) => first === name)
    expect(row('project_id')).toEqual([
      'project_id',
      'string',
      'yes',
      'Customizable identifier set by the user',
    ])
    expect(row('transition_style')).toEqual([
      'transition_style',
      'TransitionStyle',
      'no',
      'Questionnaire display mode',
    ])
    expect(row('incidence_rate')?.slice(1, 3)).toEqual(['number', 'yes; may be left out'])
    expect(row('incidence_rate')?.[3]).toMatch(/^Deprecated\. complete \/ \(complete \+ screen_out\)/)
    expect(row('draft')).toEqual(['draft', 'The survey is being created'])
  })

  test('each example request is answered as the example says', async () => {
    const [list, listed, sources, sourced, progress, progressed] = examples(page)
    for (const [command = '', answer = ''] of [
      [list, listed],
      [sources, sourced],
      [progress, progressed],
    ]) {
      const url = /'(http[^']+)'$/.exec(command)?.[1] ?? ''
      const headers = Object.fromEntries(
        [...command.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]),
      )
      expect(headers).toEqual(api.credentials())
      const { status, json } = await api.fetchText(url, { headers })
      expect([url, status]).toEqual([url, 200])
      const first = JSON.stringify(json, (_, value) => (Array.isArray(value) ? value.slice(0, 1) : value))
      expect(JSON.stringify(JSON.parse(answer))).toBe(first)
    }
  })

  test.each([
    ['moveTime', 'POST', '/time', { now: '2026-03-01T06:00:00Z', clock: 'frozen' }],
    ['replaceFaults', 'PUT', '/faults', [expect.objectContaining({ matched: 0, acted: 0 })]],
  ])('a body to copy is one that the route takes: %s', async (operationId, method, path, answer) => {
    await using own = await startApi({ surveys: 1 })
    const section = new RegExp(`<section id="${operationId}">.*?</section>`, 's')
    const [body = ''] = examples(section.exec((await own.control('/docs')).text)?.[0] ?? '')
    const { status, json } = await own.control(path, { method, body })
    expect([status, json]).toEqual([200, answer])
  })

  test('objects without a name are told field by field where they stand', () => {
    const [section = ''] = /<section id="replaceFaults">.*?<\/section>/s.exec(page) ?? []
    for (const name of ['match', 'match.path', 'times', 'action.status', 'action.patch']) {
      expect(codes(section)).toContain(name)
    }
  })

  test('loads nothing and runs nothing, and tells browsers so', async () => {
    for (const form of [
      /<script/i,
      /<(?:link|img|iframe|object|base|form)\b/i,
      /@import/i,
      /url\(/i,
      /\ssrc=/i,
    ]) {
      expect(page).not.toMatch(form)
    }
    for (const [tag] of page.matchAll(/<[a-z][^>]*>/g)) expect(tag).not.toMatch(/\son\w+=|javascript:/i)
    const links = [...page.matchAll(/href="([^"]*)"/g)].map(([, link = '']) => link)
    expect(links.filter((link) => !link.startsWith('#') && !link.startsWith('/_reference/'))).toEqual([])
    const { headers } = await api.control('/docs')
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'unsafe-inline'/)
  })

  test('is well-formed, and every link within it leads somewhere', () => {
    const open: string[] = []
    for (const [, end, name = ''] of page.matchAll(/<(\/?)([a-z][a-z\d]*)[^>]*>/g)) {
      if (['meta', 'br'].includes(name)) continue
      if (end === '') open.push(name)
      else expect([name, open.pop()]).toEqual([name, name])
    }
    expect(open).toEqual([])
    const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id = '']) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const targets = [...page.matchAll(/href="#([^"]*)"/g)].map(([, id = '']) => id)
    expect(targets.filter((id) => !ids.includes(id))).toEqual([])
    expect(targets.length).toBeGreaterThan(20)
  })

  test('/_reference and /_reference/ lead to it', async () => {
    for (const path of ['', '/']) {
      const response = await fetch(`${api.server.origin}/_reference${path}`)
      expect([response.status, response.url]).toEqual([200, `${api.server.origin}/_reference/docs`])
      expect(await response.text()).toBe(page)
    }
  })

  test('a world without surveys has no example to show, and a page all the same', async () => {
    await using bare = await startApi({ surveys: 0 })
    const { status, text } = await bare.control('/docs')
    expect(status).toBe(200)
    expect(shown(text)).toContain('This world has no survey yet.')
    expect(examples(text)[2]).toContain('/surveys/SURVEY_ID/sample_sources')
  })
})

describe('what is put into the page is shown, and never becomes part of it', () => {
  const HOSTILE = `</pre><script>alert("x")</script><b onclick='y'>&amp;`

  test('text is escaped wherever it comes from', () => {
    const document = openApiDocument('http://localhost')
    const hostile = docsPage({
      document: { ...document, info: { ...document.info, title: HOSTILE, version: HOSTILE } },
      examples: { listSurveys: { request: HOSTILE, answer: HOSTILE } },
      settings: { seed: HOSTILE },
    })
    expect(hostile).not.toMatch(/<script|<b |alert\("/)
    expect(examples(hostile).slice(0, 2)).toEqual([HOSTILE, HOSTILE])
    expect(shown(/<title>(.*?)<\/title>/.exec(hostile)?.[1] ?? '')).toBe(`${HOSTILE} ${HOSTILE}`)
  })

  test('but HTML made by the template is not, once or in a list', () => {
    expect(html`<p>${'<'}${html`<i>${"'"}</i>`}${[html`<b>1</b>`, html`2`]}${3}</p>`.html).toBe(
      '<p>&#60;<i>&#39;</i><b>1</b>23</p>',
    )
    expect(prose('a `<b>` c').html).toBe('a <code>&#60;b&#62;</code> c')
  })

  test('a Host that is none is not repeated', async () => {
    const { port } = new URL(api.server.origin)
    for (const host of [`"><script>`, `x' y`, 'a/b', 'user@host']) {
      const answer = await new Promise<string>((resolve, reject) => {
        request({ port, path: '/_reference/docs', headers: { host } }, (response) => resolve(text(response)))
          .on('error', reject)
          .end()
      })
      expect(answer).toBe(page)
    }
  })
})
