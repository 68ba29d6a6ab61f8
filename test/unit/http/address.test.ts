/** The address of a request, made from the base URL, a path and a query. */
import { expect, test } from 'vitest'
import { addressOf, locationHost } from '../../../src/http/address.js'

test.each([
  ['https://api.example/api/v1', '/surveys', '/api/v1/surveys'],
  ['https://api.example/api/v1/', 'surveys', '/api/v1/surveys'],
  ['https://user:pass@api.example/deep/api/v1//', '//surveys/1', '/deep/api/v1/surveys/1'],
])('%s and %s make %s', (baseUrl, path, target) => {
  expect(addressOf(new URL(baseUrl), path, [])).toEqual({
    origin: 'https://api.example',
    target,
    label: `GET ${target}`,
    host: 'api.example',
  })
})

test('query values are escaped, and names may repeat', () => {
  const query = [
    ['status[]', 'a b'],
    ['status[]', 'c&d'],
    ['at', '2026-03-01T00:00:00+01:00'],
  ] as const
  expect(addressOf(new URL('http://h/api/v1'), '/surveys', query).target).toBe(
    '/api/v1/surveys?status%5B%5D=a+b&status%5B%5D=c%26d&at=2026-03-01T00%3A00%3A00%2B01%3A00',
  )
})

test.each([
  ['https://user:pass@elsewhere.example:8443/x?token=y', 'elsewhere.example:8443'],
  ['/login', 'api.example'],
  ['http://[', null],
  ['mailto:a@b', null],
  [null, null],
])('the location %s names the host %s', (location, host) => {
  expect(locationHost(location, addressOf(new URL('https://api.example/api/v1'), '/surveys', []))).toBe(host)
})
