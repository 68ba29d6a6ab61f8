/** Durations, sizes and tables are printed for people. */
import { expect, test } from 'vitest'
import {
  counted,
  cutInMiddle,
  humanBytes,
  humanCount,
  humanDuration,
  humanWindow,
} from '../../../src/base/human.js'
import { textTable } from '../../../src/commands/text/text-table.js'

test.each([
  [0, '0 ms'],
  [-5, '0 ms'],
  [999.4, '999 ms'],
  [999.6, '1 s'],
  [42_400, '42 s'],
  [59_600, '1 min 00 s'],
  [125_000, '2 min 05 s'],
  [3_599_600, '1 h 00 min'],
  [3_900_000, '1 h 05 min'],
  [86_399_000, '1 d 0 h'],
  [273_600_000, '3 d 4 h'],
])('%d ms prints as %s', (durationMs, text) => {
  expect(humanDuration(durationMs)).toBe(text)
})

test.each([0, 7, 999, 1_000, 12_345, 999_999, 1_234_567, 4_600_000_000])(
  '%d prints as in English',
  (count) => {
    expect(humanCount(count)).toBe(count.toLocaleString('en-US'))
  },
)

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1536, '1.5 KiB'],
  [33_554_432, '32.0 MiB'],
  [5 * 1024 ** 4, '5.0 TiB'],
  [5000 * 1024 ** 4, '5000.0 TiB'],
])('%d bytes print as %s', (bytes, text) => {
  expect(humanBytes(bytes)).toBe(text)
})

test('counts and windows print with their units', () => {
  expect(counted(1, 'survey')).toBe('1 survey')
  expect(counted(0, 'survey')).toBe('0 surveys')
  expect(counted(1_000, 'retry', 'retries')).toBe('1,000 retries')
  expect([60_000, 3_600_000, 10_000, 90_000].map(humanWindow)).toEqual(['min', 'h', '10 s', '1 min 30 s'])
})

test('a table stays aligned when a row is wide, short, empty or a remark', () => {
  expect(
    textTable(
      [['a', 'n'], ['long name', '1,234,567'], ['b'], [], ['a remark that is wider than the columns']],
      '  ',
    ).split('\n'),
  ).toEqual([
    '  a                  n',
    '  long name  1,234,567',
    '  b',
    '',
    '  a remark that is wider than the columns',
  ])
})

test.each([
  ['short', 5, 'short'],
  ['Tracker of all brands, wave 12, DE', 20, 'Tracker of a… 12, DE'],
  ['👍👍👍👍', 3, '👍👍…'],
  ['', 0, ''],
])('%s is cut to %d characters', (text, widthMax, cut) => {
  expect(cutInMiddle(text, widthMax)).toBe(cut)
})
