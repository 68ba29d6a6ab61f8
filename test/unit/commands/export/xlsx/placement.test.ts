import { expect, test } from 'vitest'
import { sharedTables } from '../../../../../src/commands/export/xlsx/placement.js'

const table = (rows: number, columns: number, textBytes = 0) => ({ rows, columns, textBytes })

test('small tables share a workbook up to its number of cells, headers included', () => {
  const [large, small, smallest] = [table(10, 10), table(9, 10), table(0, 10)]
  expect([...sharedTables([large, small, smallest], 110)]).toEqual([smallest, small])
  expect([...sharedTables([large, small, smallest], 220)]).toEqual([smallest, small, large])
  expect([...sharedTables([large], 109)]).toEqual([])
})

test('long texts count like cells', () => {
  const texts = table(1, 1, 50 * 98)
  expect(sharedTables([texts], 100)).toEqual(new Set([texts]))
  expect(sharedTables([texts], 99)).toEqual(new Set())
})
