import { describe, expect, test } from 'vitest'
import { ALL } from '../../../../src/commands/export/relations.js'
import {
  CELL_CHARACTERS_MAX,
  columnDefinition,
  headerComment,
  type SelectedCell,
  sheetCell,
} from '../../../../src/commands/text/sheet.js'
import type { Column } from '../../../../src/model/columns.js'
import { tableName } from '../../../../src/model/sync-tables.js'
import { instantOf } from '../../../support/time/instants.js'

/** Excel allows 31 characters, and none of `[ ] : * ? / \`. It reserves `History`. */
test('every table and view has a name that a sheet may have, and that no other sheet has', () => {
  const names = [...ALL.map(tableName), 'Columns']
  expect(names.filter((name) => !/^(?!history$)[^[\]:*?/\\']{1,31}$/i.test(name))).toEqual([])
  expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length)
})

const column = (name: string, type: Column['type']) => ({ name, type, nullable: true, comment: 'What it is' })

test.each([
  ['survey_id', 'BIGINT', '@', 'What it is'],
  ['title', 'VARCHAR', '@', 'What it is'],
  ['_extra', 'JSON', '@', 'What it is'],
  ['interviews_count', 'BIGINT', undefined, 'What it is'],
  ['completion_rate', 'DOUBLE', '0.0%', 'What it is. Shown as a percentage'],
  ['complete_percentage', 'DOUBLE', undefined, 'What it is'],
  [
    'observed_at',
    'TIMESTAMPTZ',
    'yyyy-mm-dd hh:mm',
    'What it is. UTC, shown in minutes, cut to milliseconds',
  ],
  ['day', 'DATE', 'yyyy-mm-dd', 'What it is'],
] as const)('the column %s %s has the format %s', (name, type, format, comment) => {
  expect(columnDefinition(column(name, type), []).numFmt).toBe(format)
  expect(headerComment(column(name, type))).toBe(comment)
})

const cell = (type: Column['type'], value: SelectedCell, name = 'any') => {
  let cuts = 0
  const converted = sheetCell({ name, type, nullable: true, comment: '' }, value, () => {
    cuts += 1
  })
  return { converted, cuts }
}
/** Texts are selected with a character before them. */
const text = (value: string) => cell('VARCHAR', `.${value}`)

describe('a cell of a sheet', () => {
  test.each<[string, Column['type'], SelectedCell, unknown, string?]>([
    ['an id is a text', 'BIGINT', '42', '42', 'id'],
    ['an id of another table is a text', 'BIGINT', '9007199254740991', '9007199254740991', 'survey_id'],
    ['a count is a number', 'BIGINT', '-42', -42, 'interviews_count'],
    ['a number of 15 digits is a number', 'BIGINT', '-999999999999999', -999_999_999_999_999],
    ['a number that Excel would round is a text', 'BIGINT', '1000000000000000', '1000000000000000'],
    ['a number above 2^53 is a text', 'BIGINT', '9223372036854775807', '9223372036854775807'],
    ['a double is a number', 'DOUBLE', 0.1 + 0.2, 0.1 + 0.2],
    ['not a number is a text', 'DOUBLE', Number.NaN, 'NaN'],
    ['infinity is a text', 'DOUBLE', -Infinity, '-Infinity'],
    ['a boolean', 'BOOLEAN', false, false],
    ['null is an empty cell', 'VARCHAR', null, null],
    ['a null number is an empty cell', 'BIGINT', null, null, 'id'],
    ['JSON is a text', 'JSON', '.{"a":-1}', '{"a":-1}'],
    ['a day', 'DATE', '2026-03-01', new Date('2026-03-01T00:00:00Z')],
    ['the first day that Excel counts like others', 'DATE', '1900-03-01', new Date('1900-03-01T00:00:00Z')],
    ['an earlier day is a text', 'DATE', '1900-02-28', '1900-02-28'],
    ['a day after the last of Excel is a text', 'DATE', '10000-01-01', '10000-01-01'],
    ['a day before Christ is a text', 'DATE', '0044-03-15 (BC)', '0044-03-15 (BC)'],
    [
      'an instant is cut to milliseconds',
      'TIMESTAMPTZ',
      instantOf('2026-03-01T23:59:59.999999Z'),
      new Date('2026-03-01T23:59:59.999Z'),
    ],
    [
      'the last instant of Excel',
      'TIMESTAMPTZ',
      instantOf('9999-12-31T23:59:59.999999Z'),
      new Date('9999-12-31T23:59:59.999Z'),
    ],
    [
      'an earlier instant is an exact text',
      'TIMESTAMPTZ',
      instantOf('1899-12-31T23:59:59.999999Z'),
      '1899-12-31T23:59:59.999999Z',
    ],
  ])('%s', (_, type, value, expected, name) => {
    expect(cell(type, value, name)).toEqual({ converted: expected, cuts: 0 })
  })

  test.each([
    ['', ''],
    ['=1+1', '=1+1'],
    ['00123', '00123'],
    ['\ufeff<script>', '\ufeff<script>'],
    ['مرحبا 😀', 'مرحبا 😀'],
    ['one\r\ntwo\rthree\nfour', 'one\ntwo\nthree\nfour'],
    ['_x0041_', '_x005F_x0041_'],
    ['_x004_ _X0041_', '_x004_ _X0041_'],
    ['\ufffe\uffff', '_xFFFE__xFFFF_'],
    ['x'.repeat(CELL_CHARACTERS_MAX), 'x'.repeat(CELL_CHARACTERS_MAX)],
  ])('the text %j', (value, expected) => {
    expect(text(value)).toEqual({ converted: expected, cuts: 0 })
  })

  test('a text that is too long for a cell ends with a note, is counted, and no character is divided', () => {
    const { converted, cuts } = text(`${'x'.repeat(7)}${'😀'.repeat(20_000)}`)
    expect(cuts).toBe(1)
    expect(converted).toMatch(/^x{7}(?:😀)+… \[cut: 40007 characters\]$/u)
    expect(String(converted).length).toBeGreaterThan(CELL_CHARACTERS_MAX - 2)
    expect(String(converted).length).toBeLessThanOrEqual(CELL_CHARACTERS_MAX)
  })
})
