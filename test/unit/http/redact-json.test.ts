import { expect, test } from 'vitest'
import { createRedactor, Secret } from '../../../src/base/secret.js'
import { redactJson } from '../../../src/http/redact-json.js'
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

test('the client redacts a token that the server echoes, both in the text and in the value', async () => {
  await using server = await startServer((_, response) => json(response, { surveys: [{ title: TOKEN }] }))
  await using client = startClient(server.baseUrl)
  const answer = await client.get()
  expect(answer.body).toEqual({ surveys: [{ title: '[redacted]' }] })
  expect(answer.text).toBe('{"surveys":[{"title":"[redacted]"}]}')
})
