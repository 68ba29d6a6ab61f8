/** Tables for the pure functions: status, waits, dates, pauses, addresses and connection errors. */
import { expect, test } from 'vitest'
import { addressOf, locationHost } from '../../../src/http/address.js'
import { connectionFailure } from '../../../src/http/connection-failure.js'
import { createRefusals, pauseMs } from '../../../src/http/refusals.js'
import { parseHttpDate, parseRetryAfter } from '../../../src/http/retry-after.js'
import { backoffCeilingMs, retryWaitMs } from '../../../src/http/retry-timing.js'
import { statusAction } from '../../../src/http/status-action.js'

test.each([
  [200, 'parse'],
  [429, 'pause'],
  [408, 'retry'],
  [500, 'retry'],
  [502, 'retry'],
  [503, 'retry'],
  [599, 'retry'],
  [401, 'refuse_credentials'],
  [403, 'refuse_credentials'],
  [404, 'not_found'],
  [400, 'reject'],
  [410, 'reject'],
  [422, 'reject'],
  [301, 'refuse_redirect'],
  [304, 'refuse_redirect'],
  [308, 'refuse_redirect'],
  [101, 'unknown'],
  [201, 'unknown'],
  [204, 'unknown'],
  [206, 'unknown'],
  [600, 'unknown'],
  [999, 'unknown'],
] as const)('a status %i leads to %s', (status, action) => {
  expect(statusAction(status)).toBe(action)
})

test('the backoff doubles up to its limit, and jitter shortens it by any amount', () => {
  const backoff = { baseMs: 500, maxMs: 6_000 }
  expect([1, 2, 3, 4, 5, 6, 2_000].map((attempt) => backoffCeilingMs(attempt, backoff))).toEqual([
    500, 1_000, 2_000, 4_000, 6_000, 6_000, 6_000,
  ])
  expect([0, 0.5, 1].map((random) => retryWaitMs(3, backoff, random))).toEqual([0, 1_000, 2_000])
})

test.each([
  [null, 1_000],
  [500, 1_000],
  [3_000, 3_000],
  [60_000, 6_000],
])('after a Retry-After of %s ms the client waits %i ms', (askedMs, waitMs) => {
  expect(retryWaitMs(3, { baseMs: 500, maxMs: 6_000 }, 0.5, askedMs)).toBe(waitMs)
})

const answeredAtMs = Date.UTC(2026, 2, 3, 10)

test.each([
  [null, null],
  ['120', 120_000],
  [' 0 ', 0],
  ['-1', null],
  ['1.5', null],
  ['soon', null],
  ['', null],
  ['99999999999999999999', null],
  ['Tue, 03 Mar 2026 10:02:00 GMT', 120_000],
  ['Tue, 03 Mar 2026 09:00:00 GMT', 0],
  ['2026-03-03T10:02:00Z', null],
])('Retry-After %s means %s ms', (text, ms) => {
  expect(parseRetryAfter(text, answeredAtMs)).toBe(ms)
})

test.each([
  ['Tue, 03 Mar 2026 10:00:00 GMT', answeredAtMs],
  ['Tue, 31 Feb 2026 10:00:00 GMT', null],
  ['Tue, 03 Mar 2026 25:00:00 GMT', null],
  ['Tue, 03 Mar 2026 10:00:00 +0100', null],
  ['2026', null],
  [null, null],
])('the date %s is read as %s', (text, ms) => {
  expect(parseHttpDate(text)).toBe(ms)
})

test('pauses double from one window up to ten, or last as long as Retry-After says, at least a second', () => {
  expect([1, 2, 3, 4, 5, 6].map((nth) => pauseMs(nth, null, 60_000) / 60_000)).toEqual([1, 2, 4, 8, 10, 10])
  expect([1, 2, 3].map((nth) => pauseMs(nth, 7_000, 60_000))).toEqual([7_000, 7_000, 7_000])
  expect(pauseMs(1, 0, 60_000)).toBe(1_000)
})

test('only the refusal of a request sent after the last pause begins another pause', () => {
  const refusals = createRefusals(100)
  expect(refusals.refused(0, null)).toEqual({ kind: 'pause', durationMs: 100 })
  expect(refusals.refused(0, 5_000)).toEqual({ kind: 'join' })
  expect(refusals.refused(refusals.epoch(), null)).toEqual({ kind: 'pause', durationMs: 200 })
})

test('a success between two pauses resets their count, even if it arrives late', () => {
  const refusals = createRefusals(100)
  refusals.refused(0, null)
  refusals.refused(1, null)
  refusals.succeeded(1)
  expect(refusals.refused(2, null)).toEqual({ kind: 'pause', durationMs: 200 })
  refusals.refused(3, null)
  refusals.refused(4, null)
  expect(refusals.refused(5, null)).toEqual({ kind: 'end', pauses: 5 })
})

test('a Retry-After above an hour ends the run, and one of an hour does not', () => {
  expect(createRefusals(100).refused(0, 3_600_000)).toMatchObject({ kind: 'pause' })
  expect(createRefusals(100).refused(0, 3_601_000)).toEqual({ kind: 'end_asked', askedMs: 3_601_000 })
})

test.each([
  ['https://api.example/api/v1', '/surveys', '/api/v1/surveys'],
  ['https://api.example/api/v1/', 'surveys', '/api/v1/surveys'],
  ['https://user:pass@api.example/deep/api/v1//', '//surveys/1', '/deep/api/v1/surveys/1'],
])('base URL %s and path %s make %s', (baseUrl, path, target) => {
  expect(addressOf(baseUrl, path, [])).toEqual({
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
  expect(addressOf('http://h/api/v1', '/surveys', query).target).toBe(
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
  expect(locationHost(location, addressOf('https://api.example/api/v1', '/surveys', []))).toBe(host)
})

const withCode = (code: string) => Object.assign(new Error('boom'), { code })

test.each([
  ['ECONNREFUSED', true],
  ['ENOTFOUND', true],
  ['EAI_AGAIN', true],
  ['UND_ERR_CONNECT_TIMEOUT', true],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', true],
  ['ERR_TLS_CERT_ALTNAME_INVALID', true],
  ['ECONNRESET', false],
  ['EPIPE', false],
  ['ETIMEDOUT', false],
  ['UND_ERR_SOCKET', false],
  ['ESOMETHINGNEW', false],
])('after %s the request was certainly not sent: %s', (code, certainlyUnsent) => {
  const failure = connectionFailure(withCode(code))
  expect(failure?.certainlyUnsent).toBe(certainlyUnsent)
  expect(failure?.problem).toContain(`(${code})`)
})

test('an error of our own code is not classified as a connection failure', () => {
  expect(connectionFailure(new TypeError('x is not a function'))).toBeNull()
  expect(connectionFailure(withCode('UND_ERR_INVALID_ARG'))).toBeNull()
  expect(connectionFailure('text')).toBeNull()
})
