/** Which slip leads to which suggestion. */
import { expect, test } from 'vitest'
import { editDistance, nearest } from '../../../src/base/suggest.js'

test.each([
  ['settel_for', 'settle_for', 1],
  ['maxage', 'max_age', 1],
  ['', 'abc', 3],
  ['abc', '', 3],
  ['kitten', 'sitting', 3],
  ['same', 'same', 0],
])('from %j to %j it takes %d edits', (a, b, edits) => {
  expect(editDistance(a, b)).toBe(edits)
})

test('a slip finds the nearest key, upper case or not', () => {
  expect(nearest('Acounts', ['contract', 'accounts', 'publish'])).toBe('accounts')
  expect(nearest('tokenfile', ['token', 'token_file'])).toBe('token_file')
})

test('a word that is like none of the keys suggests nothing', () => {
  expect(nearest('retries', ['overlap', 'full_listing_every'])).toBeNull()
  expect(nearest('ab', ['cd'])).toBeNull()
})
