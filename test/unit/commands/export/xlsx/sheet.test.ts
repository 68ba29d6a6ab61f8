import { expect, test } from 'vitest'
import { ALL } from '../../../../../src/commands/export/relations.js'
import { columnDefinition, headerComment } from '../../../../../src/commands/export/xlsx/sheet.js'
import type { ColumnType } from '../../../../../src/model/columns.js'
import { tableName } from '../../../../../src/model/sync-tables.js'

/** Excel allows 31 characters, and none of `[ ] : * ? / \`. It reserves `History`. */
test('every table and view has a name that a sheet may have, and that no other sheet has', () => {
  const names = [...ALL.map(tableName), 'Columns']
  expect(names.filter((name) => !/^(?!history$)[^[\]:*?/\\']{1,31}$/i.test(name))).toEqual([])
  expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length)
})

const column = (name: string, type: ColumnType) => ({ name, type, nullable: true, comment: 'What it is' })

test.each([
  ['survey_id', 'BIGINT', '@', 'What it is'],
  ['title', 'VARCHAR', '@', 'What it is'],
  ['_extra', 'JSON', '@', 'What it is'],
  ['interviews_count', 'BIGINT', undefined, 'What it is'],
  ['completion_rate', 'DOUBLE', '0.0%', 'What it is. Shown as a percentage'],
  ['complete_percentage', 'DOUBLE', undefined, 'What it is'],
  ['observed_at', 'TIMESTAMPTZ', 'yyyy-mm-dd hh:mm:ss.000', 'What it is. UTC, cut to milliseconds'],
  ['day', 'DATE', 'yyyy-mm-dd', 'What it is'],
] as const)('the column %s %s has the format %s', (name, type, format, comment) => {
  expect(columnDefinition(column(name, type)).numFmt).toBe(format)
  expect(headerComment(column(name, type))).toBe(comment)
})
