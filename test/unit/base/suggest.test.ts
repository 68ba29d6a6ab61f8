/** A mistyped key leads to a suggestion. */
import { expect, test } from 'vitest'
import { editDistance, nearest } from '../../../src/base/suggest.js'

test.each([
  ['settel_for', 'settle_for', 1],
  ['maxage', 'max_age', 1],
  ['', 'abc', 3],
  ['abc', '', 3],
  ['kitten', 'sitting', 3],
  ['same', 'same', 0],
])('the edit distance from %j to %j is %d', (a, b, edits) => {
  expect(editDistance(a, b)).toBe(edits)
})

test('a mistyped word suggests the nearest key, whatever its case', () => {
  expect(nearest('Acounts', ['contract', 'accounts', 'publish'])).toBe('accounts')
  expect(nearest('tokenfile', ['token', 'token_file'])).toBe('token_file')
})

test('a word unlike every key suggests nothing', () => {
  expect(nearest('retries', ['overlap', 'full_listing_every'])).toBeNull()
  expect(nearest('ab', ['cd'])).toBeNull()
})
