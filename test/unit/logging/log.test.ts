/** Log lines: what they contain and what they must not contain. */
import { describe, expect, test } from 'vitest'
import { ExpectedError, UpstreamError } from '../../../src/base/errors.js'
import { createRedactor, Secret } from '../../../src/base/secret.js'
import { createLog, type LogLevel } from '../../../src/logging/log.js'
import { prettyStream } from '../../../src/logging/pretty.js'

const RUN_ID = '20260301T020000Z-1a2b3c'
const TOKEN = 'to"k\\en/ü-tail77'

const open = ({ level = 'debug', pretty = false }: { level?: LogLevel; pretty?: boolean } = {}) => {
  const lines: string[] = []
  const log = createLog({
    runId: RUN_ID,
    level,
    pretty: pretty ? (stream) => prettyStream(stream, false) : null,
    stream: { write: (line) => lines.push(line) },
    redact: createRedactor([new Secret(TOKEN)]),
  })
  return { log, lines, last: (): unknown => JSON.parse(lines.at(-1) ?? '') }
}

describe('a JSON line', () => {
  test('has the level by name, the time in ISO 8601, the message and the fields', () => {
    const { log, lines, last } = open()
    log.info({ account: 'acme', requests: 3 }, 'page read')
    expect(last()).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      account: 'acme',
      requests: 3,
      run_id: RUN_ID,
      msg: 'page read',
    })
    expect(lines[0]).toMatch(/^\{[^\n]*\}\n$/)
  })

  test('has code and causes of an expected error, without a stack', () => {
    const { log, last } = open()
    const cause = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' })
    log.error({ err: new UpstreamError('wrong_address', 'the API is unreachable', { cause }) }, 'stopped')
    expect(last()).toMatchObject({
      err: 'wrong_address: the API is unreachable; because ECONNREFUSED: connect refused',
    })
  })

  test('has the stack of an unexpected error', () => {
    const { log, last } = open()
    log.error({ err: new TypeError('no such thing') }, 'bug')
    expect(last()).toMatchObject({
      err: expect.stringMatching(/^TypeError: no such thing\n\s+at .*log\.test\.ts/),
    })
  })

  test('names every error of an AggregateError', () => {
    const { log, last } = open()
    const cause = new AggregateError([new Error('a'), 'b'], 'two')
    log.error({ err: new ExpectedError('usage', 'both', { cause }) }, 'x')
    expect(last()).toMatchObject({ err: 'usage: both; because AggregateError: two / Error: a / b' })
  })

  test('accepts a bigint, a date, a set, a secret, a cycle and a field that is called level', () => {
    const { log, last } = open()
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    const odd = { big: 12345678901234567890n, at: new Date(0), ids: new Set([1, 2]), token: new Secret('x') }
    log.info({ ...odd, missing: undefined, nan: Number.NaN, cycle, level: 'mine' }, 'odd')
    expect(last()).toEqual({
      ...{
        level: 'info',
        time: expect.any(String),
        run_id: RUN_ID,
        msg: 'odd',
        _level: 'mine',
        ids: [1, 2],
        nan: 'NaN',
      },
      ...{ big: '12345678901234567890', at: '1970-01-01T00:00:00.000Z', token: '[redacted]' },
      cycle: { self: { self: { self: { self: { self: '…' } } } } },
    })
  })
})

describe('a token', () => {
  const body = JSON.stringify({ error: `bad token ${TOKEN}` })
  test.each([
    ['in a field', { header: TOKEN }],
    ['in the name of a field', { [TOKEN]: 1 }],
    ['deep in a field', { a: [{ b: `x${TOKEN}y` }] }],
    ['in an error', { err: new Error(`sent ${TOKEN}`) }],
    [
      'in the cause of an error',
      { err: new UpstreamError('wrong_address', 'no', { cause: new Error(TOKEN) }) },
    ],
    ['in the JSON body of an answer', { err: new UpstreamError('wrong_address', `answered ${body}`) }],
    ['in the JSON body of an answer, deep in a field', { came: { answers: [{ body }] } }],
    ['in a URL', { url: `https://x.example/?t=${encodeURIComponent(TOKEN)}` }],
  ])('%s never reaches a line', (_, fields) => {
    for (const pretty of [false, true]) {
      const { log, lines } = open({ pretty })
      log.debug(fields, `message with ${TOKEN}`)
      expect(lines).toHaveLength(1)
      expect(lines.join('')).toContain('[redacted]')
      expect(lines.join('')).not.toContain('tail77')
    }
  })
})

test('a pretty line has time, level, message and fields on one line, without colours by default', () => {
  const { log, lines } = open({ pretty: true })
  log.warn({ account: 'acme' }, 'slow')
  expect(lines[0]).toMatch(
    /^\[\d\d:\d\d:\d\d\] WARN: slow \{"account":"acme","run_id":"20260301T020000Z-1a2b3c"\}\n$/,
  )
})

test('control characters of a pretty line are text, in fields and in the message', () => {
  const { log, lines } = open({ pretty: true })
  log.info({ title: 'a\u001b[31mb\u202e', '\u0007': 1 }, 'of \u001b]0;c\u0007 "d" \\')
  expect(lines[0]).toMatch(/INFO: of \\u001b\]0;c\\u0007 "d" \\ \{"title":"a.*\n$/)
  expect(lines[0]).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
})

describe('the level', () => {
  test.each<[LogLevel, string[]]>([
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['error', ['error']],
    ['silent', []],
  ])('%s logs that severity and above', (level, expected) => {
    const { log, lines } = open({ level })
    for (const name of ['debug', 'info', 'warn', 'error'] as const) log[name]({}, 'm')
    expect(lines.map((line) => /"level":"(\w+)"/.exec(line)?.[1])).toEqual(expected)
  })
})
