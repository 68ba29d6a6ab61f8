/** Runs the Python of the how-to pages for readers unchanged, on published accounts that look like numbers, dates and booleans. */
import { expect, test } from 'vitest'
import { BLOCKS, ENVIRONMENT_OF } from './page-shared.js'

test('the pages have Python for each library', () => {
  expect(BLOCKS.map(({ library }) => library)).toEqual(Object.keys(ENVIRONMENT_OF))
})
