/** Declares faults in a call, in a file and over HTTP, and reads the errors of wrong ones. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { startApi } from './support/api.js'
import { countsOf, putFaults } from './support/faulty.js'

const GOOD = { action: { status: 503 } }

describe('PUT /_reference/faults', () => {
  test('replaces all faults and answers the list with its defaults, as GET does', async () => {
    await using api = await startApi({ surveys: 1, faults: [{ action: { reset: true } }] })
    const answer = await putFaults(api, [
      { match: { path: '/surveys', page: 2 }, action: { status: 503, headers: { 'Retry-After': 5 } } },
      { after: 1, times: 'always', probability: 0.5, action: { patch: null, at: '/surveys' } },
    ])
    expect(answer.status).toBe(200)
    const usual = { match: {}, after: 0, times: 1, probability: 1, matched: 0, acted: 0 }
    const status = { status: 503, headers: { 'retry-after': '5' } }
    const patch = { patch: null, at: '/surveys' }
    expect(answer.json).toEqual([
      { ...usual, match: { path: '/surveys', page: 2 }, action: status },
      { ...usual, after: 1, times: 'always', probability: 0.5, action: patch },
    ])
    expect((await api.control('/faults')).json).toEqual(answer.json)
    expect((await api.control('/faults', { method: 'DELETE' })).json).toEqual([])
    expect((await api.control('/faults')).json).toEqual([])
    expect((await api.ask('/surveys')).status).toBe(200)
  })

  test('a body that is no list is 400 with one line and replaces nothing', async () => {
    await using api = await startApi({ surveys: 1, faults: [GOOD] })
    for (const body of ['', '{', 'faults', '{"action": {"reset": true}}', 'null', '"a.yaml"']) {
      const { status, json } = await api.control('/faults', { method: 'PUT', body })
      expect([status, json]).toEqual([400, { error: expect.stringMatching(/^[^\n]+list of faults.*$/) }])
    }
    expect((await api.ask('/surveys')).status).toBe(503)
  })

  test('a wrong fault among good ones replaces nothing and keeps counters and forgotten surveys', async () => {
    await using api = await startApi({ surveys: 2 })
    const { id } = (await api.readSurveys()).surveys[0]!
    await putFaults(api, [{ action: { forget: id } }])
    await api.ask('/surveys')
    expect((await putFaults(api, [GOOD, { action: {} }])).status).toBe(400)
    expect(await countsOf(api)).toEqual([[1, 1]])
    expect((await api.readSurveys()).surveys.length).toBe(1)
  })

  test('deep nesting and a body that is too large are refused', async () => {
    await using api = await startApi({ surveys: 1, faults: [GOOD] })
    const put = (body: string) => api.control('/faults', { method: 'PUT', body })
    const nest = `[{"action": {"status": 200, "body": ${'['.repeat(50_000)}${']'.repeat(50_000)}}}]`
    expect((await put(nest)).json).toEqual({ error: expect.stringMatching(/at most 100 levels\.$/) })
    expect((await put(' '.repeat(2_000_000))).status).toBe(413)
    expect((await putFaults(api, Array(1_001).fill(GOOD))).json).toEqual({
      error: expect.stringMatching(/: give at most 1000 faults\.$/),
    })
    expect((await api.ask('/surveys')).status).toBe(503)
  })
})

/** The part of a fault that is wrong, and the beginning of its line after `faults[0]`. */
const wrongs: readonly (readonly [fault: unknown, line: string])[] = [
  [7, ' is 7: give an object like {"match": {"path": "/surveys"}, "action": {"status": 503}}.'],
  [{}, '.action is missing: give an object with one of status, delay_ms, reset,'],
  [{ acton: { hang: true } }, '.acton is not known: did you mean action?'],
  [{ ...GOOD, matches: {} }, '.matches is not known: did you mean match?'],
  [{ ...GOOD, match: { url: '/' } }, '.match.url is not known: the keys here are path, page.'],
  [{ ...GOOD, match: null }, '.match is null: give an object of path, page, or of some of them.'],
  [
    { ...GOOD, match: { path: '/survey' } },
    '.match.path is "/survey": give a path of the API, such as /surveys or /surveys/{SURVEY_ID}/sample_sources',
  ],
  [{ ...GOOD, match: { path: '/surv*' } }, '.match.path is "/surv*": give'],
  [
    { ...GOOD, match: { page: 0 } },
    '.match.page is 0: give the requested page, a whole number from 1 to 1000000000.',
  ],
  [
    { ...GOOD, after: -1 },
    '.after is -1: give how many matching requests it lets through first, a whole number from 0',
  ],
  [
    { ...GOOD, times: 0 },
    '.times is 0: give how often it acts, a whole number from 1 to 1000000000, or always.',
  ],
  [{ ...GOOD, times: 'ever' }, '.times is "ever": give'],
  [{ ...GOOD, probability: 1.5 }, '.probability is 1.5: give a number from 0 to 1.'],
]
/** The same for an action, after `faults[0].action`. */
const wrongActions: readonly (readonly [action: unknown, line: string])[] = [
  [null, ' is null: give an object with one of'],
  [{}, ' is {}: give exactly one of status, delay_ms, reset,'],
  [{ status: 500, reset: true }, ' is {"status":500,"reset":true}: give exactly one of'],
  [{ delay_ms: 'soon' }, '.delay_ms is "soon": give milliseconds, a whole number from 0 to 600000.'],
  [{ delay_ms: 600_001 }, '.delay_ms is 600001: give'],
  [{ status: 199 }, '.status is 199: give the status to answer, a whole number from 200 to 599.'],
  [{ status: 'x'.repeat(500) }, `.status is "${'x'.repeat(99)}…: give`],
  [{ status: 204, body: 'x' }, '.body is "x": leave it out: an answer 204 has no body.'],
  [
    { status: 200, headers: { 'a b': 'x' } },
    '.headers["a b"] is "x": leave it out: this is not the name of a header.',
  ],
  [
    { status: 200, headers: { a: 'x\ny' } },
    '.headers.a is "x\\ny": give the text of a header, without line breaks.',
  ],
  [
    { status: 200, headers: { 'Content-Length': '7' } },
    '.headers["Content-Length"] is "7": leave it out: the server writes it.',
  ],
  [{ status: 200, headers: [] }, '.headers is []: give an object of names and texts'],
  [{ reset: true, body: 'x' }, '.body is "x": leave it out: it belongs to status.'],
  [{ status: 500, at: '' }, '.at is "": leave it out: it belongs to patch.'],
  [{ reset: false }, '.reset is false: give true, or leave it out.'],
  [{ truncate: -1 }, '.truncate is -1: give how many bytes of the body are sent'],
  [{ patch: {}, at: 'surveys' }, '.at is "surveys": give a JSON pointer such as /surveys/*'],
  [{ forget: 12 }, '.forget is 12: give the id of a survey that some account has at some time.'],
  [{ delay: 500 }, '.delay is not known: '],
  [{ truncat: 5 }, '.truncat is not known: did you mean truncate?'],
]

describe('a wrong fault', () => {
  test('gets one line that says what, where and what to do', async () => {
    await using api = await startApi({ surveys: 1, accounts: 2 })
    const ofActions = wrongActions.map(([action, line]) => [{ action }, `.action${line}`] as const)
    for (const [fault, rest] of [...wrongs, ...ofActions]) {
      const line = `faults[0]${rest}`
      const { status, json } = await putFaults(api, [fault])
      expect([status, json]).toEqual([400, { error: expect.any(String) }])
      const [first, ...others] = String((json as { error: unknown }).error).split('\n')
      expect([first?.slice(0, line.length), others]).toEqual([line, []])
      expect(first).toMatch(/[.?]$/)
    }
  })

  test('one error names all wrong ones by their places; the error of a call leads to exit code 2', async () => {
    const faults = [GOOD, { action: { delay_ms: 'soon' }, after: -1 }, { action: { hang: 1 }, time: 2 }]
    await expect(startApi({ surveys: 1, faults })).rejects.toMatchObject({
      code: 'reference_server_faults',
      exitCode: 2,
      message: expect.stringMatching(
        /^faults\[1\]\.after is -1.*\nfaults\[1\]\.action\.delay_ms is "soon".*\nfaults\[2\]\.action\.hang is 1: .*\nfaults\[2\]\.time is not known: did you mean times\?$/,
      ),
    })
  })

  test('values that are no JSON are wrong: NaN, undefined, a list that contains itself', async () => {
    const loop: unknown[] = []
    loop.push(loop)
    for (const body of [Number.NaN, [undefined], loop, () => 1]) {
      await expect(startApi({ surveys: 1, faults: [{ action: { status: 200, body } }] })).rejects.toThrow(
        /^faults\[0\]\.action\.body is .*: give the body to answer, anything that is JSON/,
      )
    }
    await expect(startApi({ surveys: 1, faults: [loop] })).rejects.toThrow(/^faults\[0\] is /)
  })
})

describe('a file of faults', () => {
  test('is YAML, or JSON with tabs and a byte order mark', async () => {
    const directory = await temporaryDirectory()
    const path = join(directory, 'faults.yaml')
    await writeFile(path, '\uFEFF[\n\t{\n\t\t"action":\t{"status": 418, "body": "2026-03-01"}\n\t}\n]')
    await using json = await startApi({ surveys: 1, faults: path })
    expect([(await fetch(`${json.server.baseUrl}/surveys`, { headers: json.credentials() })).status]).toEqual(
      [418],
    )
    await writeFile(
      path,
      '# the first hangs\n- match: {page: 2}\n  action: {hang: true}\n- {action: {status: 503}}\n',
    )
    await using yaml = await startApi({ surveys: 1, faults: path })
    expect((await countsOf(yaml)).length).toBe(2)
  })

  /** Nine times nine times… */
  const LAUGHS = Array.from({ length: 9 }, (_, level) =>
    level === 0
      ? '- &a0 [x]\n'
      : `- &a${level} [${Array(9)
          .fill(`*a${level - 1}`)
          .join(', ')}]\n`,
  ).join('')
  test.each([
    ['- action: {hang: true\n', /:2 is neither YAML nor JSON: /],
    ['- action: 1\n  action: 2\n', /:2 is neither YAML nor JSON: Map keys must be unique/],
    ['- action: {status: 500}\n---\n- action: {hang: true}\n', /:2 is neither YAML nor JSON: /],
    ['', /: faults is null: give a list of faults \(\[\] for none\)\.$/],
    ['faults: []', /: faults is \{"faults":\[\]\}: give a list/],
    ['- action: {hang: maybe}', /: faults\[0\]\.action\.hang is "maybe": give true, or leave it out\.$/],
    ['- *nobody', / cannot be used: Unresolved alias/],
    ['- &a [*a]', /faults\[0\] is /],
    [`- &a [1]\n${'- *a\n'.repeat(200)}`, /faults\[49\] is \[1\]: .*\n.*: 151 more like these\.$/],
    [LAUGHS, / cannot be used: Excessive alias count/],
    [Buffer.from([0xff, 0xfe, 0x2d]), / is not UTF-8 text; is it the right file\?$/],
    [' '.repeat(1_048_577), / is larger than 1 MiB; is it the right file\?$/],
  ])('that cannot be used is named in the error, with what to do: %#', async (text, message) => {
    const directory = await temporaryDirectory()
    const path = join(directory, 'faults.yaml')
    await writeFile(path, text)
    const starting = startApi({ surveys: 1, faults: path })
    await expect(starting).rejects.toMatchObject({ exitCode: 2, message: expect.stringMatching(message) })
    await expect(starting).rejects.toThrow(path)
  })

  test('that does not exist or is a directory is named so in the error', async () => {
    const directory = await temporaryDirectory()
    const missing = join(directory, 'missing.yaml')
    await expect(startApi({ faults: missing })).rejects.toThrow(
      `${missing} does not exist; give a YAML or JSON file.`,
    )
    await expect(startApi({ faults: directory })).rejects.toThrow(`${directory} is a directory, not a file;`)
  })
})
