/** What the head of an answer says, as tables: its status, `Retry-After` and `Date`. */
import { expect, test } from 'vitest'
import { parseHttpDate, parseRetryAfter, statusAction } from '../../../src/http/attempt.js'

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
])('Retry-After %s asks for %s ms', (text, ms) => {
  expect(parseRetryAfter(text, answeredAtMs)).toBe(ms)
})

test.each([
  ['Tue, 03 Mar 2026 10:00:00 GMT', answeredAtMs],
  ['Tue, 31 Feb 2026 10:00:00 GMT', null],
  ['Tue, 03 Mar 2026 25:00:00 GMT', null],
  ['Tue, 03 Mar 2026 10:00:00 +0100', null],
  ['2026', null],
  [null, null],
])('the date %s is %s', (text, ms) => {
  expect(parseHttpDate(text)).toBe(ms)
})

test.each([
  ['parse', [200]],
  ['pause', [429]],
  ['retry', [408, 500, 502, 503, 599]],
  ['credentials_refused', [401, 403]],
  ['not_there', [404]],
  ['request_rejected', [400, 410, 422]],
  ['redirect_refused', [301, 304, 308]],
  ['unexpected_status', [101, 201, 204, 206, 600, 999]],
] as const)('%s is what is done about %j', (action, statuses) => {
  expect(new Set(statuses.map(statusAction))).toEqual(new Set([action]))
})
