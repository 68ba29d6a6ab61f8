/** Durations, sizes and tables are printed for people. */
import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import {
  counted,
  cutInMiddle,
  humanAge,
  humanBytes,
  humanCount,
  humanDuration,
  humanWindow,
} from '../../../src/base/human.js'
import { textTable, wrapped } from '../../../src/commands/text/text-table.js'

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
      { indent: '  ' },
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
  [0, '0 s ago'],
  [59_999, '59 s ago'],
  [60_000, '1 min ago'],
  [3 * 3_600_000 + 1, '3 h ago'],
  [47.9 * 3_600_000, '47 h ago'],
  [48 * 3_600_000, '2 d ago'],
  [-400 * 86_400_000, 'in 400 d'],
])('an age of %d ms prints as %s', (ageMs, text) => {
  expect(humanAge(ageMs)).toBe(text)
})

test('a text that is too long loses its middle, and no character is halved', () => {
  const titles = ['Brand tracker, wave 11', 'Brand tracker, wave 12']
  expect(titles.map((title) => cutInMiddle(title, 12))).toEqual(['Brand…ave 11', 'Brand…ave 12'])
  expect(cutInMiddle('Brand', 5)).toBe('Brand')
  expect([0, 1, 2].map((widthMax) => cutInMiddle('Brand', widthMax))).toEqual(['', '…', '…d'])
  const families = '👩‍👩‍👧‍👦'.repeat(40)
  expect(cutInMiddle(families, 9, stringWidth)).toBe('👩‍👩‍👧‍👦👩‍👩‍👧‍👦…👩‍👩‍👧‍👦👩‍👩‍👧‍👦')
  expect(stringWidth(cutInMiddle('お客様アンケート'.repeat(9), 20, stringWidth))).toBeLessThanOrEqual(20)
})

test('a table gives its widest texts less room until it fits, and keeps its numbers', () => {
  const rows = [
    ['survey', 'title', 'tried'],
    ['4711', `${'お客様'.repeat(20)} wave 12`, '1,234'],
  ]
  const lines = textTable(rows, { indent: '  ', leftColumns: 2, widthMax: 40, cut: [1] }).split('\n')
  expect(lines.map((line) => stringWidth(line))).toEqual([40, 40])
  expect(lines[1]).toMatch(/^ {2}4711 {4}お.*….*wave 12 +1,234$/)
})

test('a paragraph breaks between words, and a path stays whole', () => {
  const path = '/data/fieldwork/fieldwork.duckdb'
  expect(wrapped(`one two three ${path} four`, 10)).toBe(`one two\n  three\n  ${path}\n  four`)
})
