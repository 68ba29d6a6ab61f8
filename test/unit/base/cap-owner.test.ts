/** A cap belongs to an address and an identifier. Spellings of one address name one cap. Other differences mean another cap. */
import { expect, test } from 'vitest'
import { type CapOwner, capFileName, capKey } from '../../../src/base/cap-owner.js'

const ACME = 'https://api.example/org/api/v1'
const keyOf = (baseUrl: string, id = 17) => capKey({ baseUrl, id })

test.each([
  'HTTPS://API.Example/org/api/v1',
  'https://api.example:443/org/api/v1',
  'https://api.example./org/api/v1',
  'https://api.example/org/api/v1//',
  'https://api.example//org/api/v1',
  'https://api.example/x/../org/api/v1',
  'https://api.example/%6Frg/api/v1',
  'https://%61pi.example/org/api/v1',
])('%s belongs to the same cap', (baseUrl) => {
  expect(keyOf(baseUrl)).toBe(keyOf(ACME))
})

test('a percent-encoding has no case, and characters that must be encoded stay encoded', () => {
  expect(keyOf('https://api.example/a%2fb%c3%a9/api/v1')).toBe(keyOf('https://api.example/a%2Fbé/api/v1'))
  expect(keyOf('https://api.example/a%2Fb/api/v1')).not.toBe(keyOf('https://api.example/a/b/api/v1'))
})

test.each([
  ['scheme', 'http://api.example/org/api/v1', 17],
  ['host', 'https://api2.example/org/api/v1', 17],
  ['port', 'https://api.example:8443/org/api/v1', 17],
  ['path', 'https://api.example/other/api/v1', 17],
  ['case of the path', 'https://api.example/Org/api/v1', 17],
  ['identifier', ACME, 18],
] as const)('a different %s means another cap', (_, baseUrl, id) => {
  expect(keyOf(baseUrl, id)).not.toBe(keyOf(ACME))
  const name = (owner: CapOwner) => capFileName('sent', owner, 'x').toLowerCase()
  expect(name({ baseUrl, id })).not.toBe(name({ baseUrl: ACME, id: 17 }))
})

test('a file name contains host and identifier, and nothing of the path that could leave its directory', () => {
  const name = (baseUrl: string) => capFileName('sent', { baseUrl, id: 17 }, 'ndjson')
  expect(name(ACME)).toMatch(/^sent-api\.example-17\.[0-9a-f]{16}\.ndjson$/)
  expect(name('http://127.0.0.1:8080/token-5cdd6e/api/v1')).toMatch(
    /^sent-127\.0\.0\.1_8080-17\.[0-9a-f]{16}\.ndjson$/,
  )
  expect(name('http://[::1]:8080/api/v1')).toMatch(/^sent-_1__8080-17\.[0-9a-f]{16}\.ndjson$/)
  expect(name(`https://${'x'.repeat(63)}.${'y'.repeat(63)}.example/api/v1`).length).toBeLessThan(120)
})
