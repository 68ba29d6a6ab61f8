/** A secret is found however a server encodes what it echoes. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRedactor, REDACTED, Secret } from '../../../src/base/secret.js'
import { cases } from '../../support/suite/cases.js'

const percent = (text: string): string =>
  Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
const mixed = (text: string): string =>
  text.replaceAll(/%[\dA-F]{2}/g, (code, at: number) => (at % 2 === 0 ? code.toLowerCase() : code))
const entities = (text: string, of: (code: number) => string): string =>
  Array.from(text, (one) => `&#${of(one.codePointAt(0) ?? 0)};`).join('')
const html = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#039;')
    .replaceAll('/', '&#x2F;')
const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** Each leaves nothing of the secret. */
const WHOLE: readonly [string, (secret: string) => string][] = [
  ['as it is', (secret) => secret],
  ['in JSON', (secret) => JSON.stringify(secret).slice(1, -1)],
  ['in JSON in JSON', (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
  ['in JSON with escaped slashes', (secret) => JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/')],
  ['in a URL', encodeURIComponent],
  ['in a URL, capital and small letters', (secret) => mixed(encodeURIComponent(secret))],
  ['in a URL, every character', percent],
  ['in a URL in a URL', (secret) => encodeURIComponent(encodeURIComponent(secret))],
  ['in a form', (secret) => new URLSearchParams({ a: secret }).toString().slice(2)],
  ['in HTML', html],
  ['in HTML in HTML', (secret) => html(html(secret))],
  ['in HTML by numbers', (secret) => entities(secret, String)],
  ['in HTML by hexadecimal numbers', (secret) => entities(secret, (code) => `x${code.toString(16)}`)],
  ['in hex', (secret) => Buffer.from(secret).toString('hex')],
  ['in hex, capital letters', (secret) => Buffer.from(secret).toString('hex').toUpperCase()],
]

const SECRETS = ['3f2b9c0e7a5d4e1f', 'tok/7f3a+"secret"=&\\end <x>', "päss wörd'ü"]

describe.each(WHOLE)('%s', (_, encode) => {
  test.each(SECRETS)('%s', (secret) => {
    const redact = createRedactor([new Secret(secret)])
    expect(redact(`before ${encode(secret)} after`)).toBe(`before ${REDACTED} after`)
  })
})

test.each(['', 'a', 'ab', 'abc', '1234:'])(
  'in base64 behind "%s", at most two characters of the secret stay',
  (before) => {
    for (const secret of SECRETS) {
      const redact = createRedactor([new Secret(secret)])
      for (const encoded of [
        base64(`${before}${secret}`),
        base64(`${before}${secret} and more`),
        Buffer.from(`${before}${secret} and more`).toString('base64url'),
        encodeURIComponent(base64(`${before}${secret} and more`)),
      ]) {
        const rest = redact(`Basic ${encoded}`).split(REDACTED)
        expect([encoded, rest.length]).toEqual([encoded, 2])
        const [head = '', tail = ''] = rest
        expect(head.length).toBeLessThanOrEqual('Basic '.length + Math.ceil((before.length * 4) / 3) + 1)
        expect(decodeURIComponent(tail).length).toBeLessThanOrEqual(4 + base64(' and more').length)
      }
    }
  },
)

test('any secret in any encoding is found, and a text without it stays', () => {
  const secrets = fc
    .string({ minLength: 8, maxLength: 40 })
    .filter((text) => text.trim() === text && text.length >= 8)
  fc.assert(
    fc.property(secrets, fc.constantFrom(...WHOLE), fc.string(), (secret, [, encode], other) => {
      const redact = createRedactor([new Secret(secret)])
      expect(redact(`\n${encode(secret)}\n`)).toBe(`\n${REDACTED}\n`)
      const unrelated = `${other} \u2603 fieldwork-sync: this run is complete`
      if (!unrelated.includes(secret)) expect(redact(unrelated)).toBe(unrelated)
    }),
    cases(40),
  )
})

test('each of a thousand secrets is found', () => {
  const secrets = Array.from({ length: 1_000 }, (_, place) => `tok/${place}+"${place * 7919}"=&\\end`)
  const redact = createRedactor(secrets.map((secret) => new Secret(secret)))
  const encoded = secrets.map((secret, place) => WHOLE[place % WHOLE.length]?.[1](secret) ?? '')
  expect(redact(encoded.join('\n')).split('\n')).toEqual(secrets.map(() => REDACTED))
})

test('of secrets that overlap, nothing stays', () => {
  const redact = createRedactor(['abcdefgh', 'efghijkl', 'bcdefghijklmno'].map((text) => new Secret(text)))
  expect(redact('-abcdefgh-abcdefghijkl-abcdefghijklmno-efghijklabcdefgh-')).toBe(
    `-${REDACTED}-${REDACTED}-${REDACTED}-${REDACTED}${REDACTED}-`,
  )
})

test('a token of one to three characters redacts no word of ours', () => {
  for (const token of ['a', 'ru', 'run', '%', '&'])
    expect(createRedactor([new Secret(token)])('a run & its end, 100 %')).toBe('a run & its end, 100 %')
  expect(createRedactor([new Secret('abcd')])('token abcd')).toBe(`token ${REDACTED}`)
})

test('a hostile text costs no more than a long one', () => {
  const redact = createRedactor([new Secret('a"\\\\\\\\"b/&&&&%%%%25%25')])
  for (const part of ['\\', '%25', '&amp;', '&#0', '\\u00', 'a\\\\\\'])
    expect(redact(part.repeat(100_000))).toHaveLength(part.length * 100_000)
})
