import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRedactor, Secret } from '../../../src/base/secret.js'
import { redactJson } from '../../../src/http/redact-json.js'
import { anyText } from '../../support/hostile/any-text.js'
import { json, startClient, startServer, TOKEN } from './server-and-client.js'

const redactorOf = (token: string) => createRedactor([new Secret(token)])

test.each([
  ['a plain string', '{"a":"x abc/12345 y"}', '{"a":"x [redacted] y"}'],
  ['a name', '{"abc/12345":1}', '{"[redacted]":1}'],
  ['an escaped slash', String.raw`{"a":"abc\/12345"}`, '{"a":"[redacted]"}'],
  ['any other escape', String.raw`{"a":"\u0061bc/1234\u0035"}`, '{"a":"[redacted]"}'],
  ['JSON inside JSON', String.raw`{"a":"{\"t\":\"abc/12345\"}"}`, String.raw`{"a":"{\"t\":\"[redacted]\"}"}`],
  [
    'digits that JSON.parse would round stay unchanged',
    '{"a":90071992547409931,"b":"abc/12345"}',
    '{"a":90071992547409931,"b":"[redacted]"}',
  ],
  [
    'other strings keep their escapes',
    String.raw`{"a":"\u00e9\"","b":"abc/12345"}`,
    String.raw`{"a":"\u00e9\"","b":"[redacted]"}`,
  ],
])('redacting a token: %s', (_, text, redacted) => {
  expect(redactJson(text, redactorOf('abc/12345'))).toBe(redacted)
})

test('redacting a token of digits changes no numbers', () => {
  const text = '{"id":12345678,"note":"token 12345678"}'
  expect(redactJson(text, redactorOf('12345678'))).toBe('{"id":12345678,"note":"token [redacted]"}')
})

test('redacting a token that contains JSON syntax keeps the JSON valid', () => {
  for (const token of ['end","b":"x', '\\end12345', 'abcdefg"', '"abcdefg', '\\"\\\\']) {
    const value = { a: `x${token}y`, [token]: token, end: 'x' }
    const redacted: unknown = JSON.parse(redactJson(JSON.stringify(value), redactorOf(token)))
    expect(redacted).toEqual({ a: 'x[redacted]y', '[redacted]': '[redacted]', end: 'x' })
  }
})

test('no string of an answer has the token after redaction, and an answer without the token stays the same', () => {
  const token = 'abc"/\\12345'
  const text = fc.oneof(anyText(), fc.constant(token), fc.constant(`<${token}>`))
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, text, fc.double(), fc.boolean(), tie('list'), tie('object')),
    list: fc.array(tie('value')),
    object: fc.dictionary(text, tie('value')),
  }))
  fc.assert(
    fc.property(value, (answer) => {
      const before = JSON.stringify(answer)
      const after = redactJson(before, redactorOf(token))
      expect(JSON.stringify(JSON.parse(after))).not.toContain(JSON.stringify(token).slice(1, -1))
      if (!before.includes(JSON.stringify(token).slice(1, -1))) expect(after).toBe(before)
    }),
    { seed: 20260301, numRuns: 150 },
  )
})

test('the client redacts a token that the server echoes, both in the text and in the value', async () => {
  await using server = await startServer((_, response) => json(response, { surveys: [{ title: TOKEN }] }))
  await using client = startClient(server.baseUrl)
  const answer = await client.get()
  expect(answer.body).toEqual({ surveys: [{ title: '[redacted]' }] })
  expect(answer.text).toBe('{"surveys":[{"title":"[redacted]"}]}')
})

test('the first 429 ends the run at once if pausesMax is 1', async () => {
  await using server = await startServer((_, response) =>
    response.writeHead(429, { 'retry-after': '600' }).end(),
  )
  await using client = startClient(server.baseUrl, { limits: { pausesMax: 1 } })
  await expect(client.get()).rejects.toMatchObject({
    code: 'rate_refused',
    message: expect.stringContaining(
      "answered 429 (too many requests) for account 'default' at GET /api/v1/surveys: check",
    ),
  })
  expect(server.arrivals).toHaveLength(1)
})
