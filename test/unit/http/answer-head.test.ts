/** What is done about each HTTP status. */
import { expect, test } from 'vitest'
import { statusAction } from '../../../src/http/answer-head.js'

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
] as const)('status %i: %s', (status, action) => {
  expect(statusAction(status)).toBe(action)
})
