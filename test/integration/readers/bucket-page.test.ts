/**
 * An analyst's session: nothing but the address of the bucket, and the lines of `docs/how-to/read-from-a-bucket.md`. The real command has
 * published two nights to a real server.
 */
import { expect, test } from 'vitest'
import { ADDRESSES, DELTA, EARLIER, PYTHON, SQL, TIME_TRAVEL } from './bucket-page-shared.js'

const STATEMENTS_MAX = 3
const statementsOf = (block: string): readonly string[] =>
  block.split(';\n').filter((statement) => statement.trim() !== '')

test('the page leads from the address of the bucket to an answer in at most three statements', () => {
  expect([SQL.length, PYTHON.length]).toEqual([4, 2])
  for (const block of SQL) expect(statementsOf(block).length).toBeLessThanOrEqual(STATEMENTS_MAX)
  expect(DELTA).toContain('delta_scan')
  expect(SQL.indexOf(ADDRESSES)).toBe(0)
  expect(ADDRESSES.match(/^ATTACH/gm)).toHaveLength(2)
  expect(TIME_TRAVEL).toContain('AT (TIMESTAMP')
  expect(EARLIER).toContain('VERSION 0')
})
