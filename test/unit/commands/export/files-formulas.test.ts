import fc from 'fast-check'
import { expect, test } from 'vitest'
import { guardedText } from '../../../../src/commands/export/files.js'
import { literal } from '../../../../src/warehouse/connection/ddl.js'
import { openReader } from '../../../support/warehouse/duckdb.js'

const guarded = async (texts: readonly string[]): Promise<readonly unknown[]> => {
  using reader = await openReader(':memory:')
  const values = texts.map((text, index) => `(${index}, ${literal(text)})`).join(', ')
  // DuckDB's client drops a byte order mark at the beginning of a text.
  const rows = await reader.query(
    `SELECT '.' || ${guardedText('text')} AS guarded FROM (VALUES ${values}) t(i, text) ORDER BY i`,
  )
  return rows.map((row) => String(row.guarded).slice(1))
}

const CASES = [
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-5 %', "'-5 %"],
  ["@SUM(A1)|cmd'!A0", "'@SUM(A1)|cmd'!A0"],
  ['\t=1', "\t'=1"],
  ['\r=1', "\r'=1"],
  ['  =1', "'  =1"],
  ['\u00a0=1', "'\u00a0=1"],
  ['\u200b=1', "'\u200b=1"],
  ['\ufeff=1', "'\ufeff=1"],
  ['＝1', "'＝1"],
  ['first\n=1', "first\n'=1"],
  ['first\r\n-1', "first\r\n'-1"],
  ['first;=1;@2', "first;'=1;'@2"],
  ["'=1", "''=1"],
  ['; =1', ";' =1"],
  [";' =1", ";'' =1"],
  ['', ''],
  ['a = b, -c', 'a = b, -c'],
  ["it's", "it's"],
  ['#N/A', "'#N/A"],
  ['#ref!', "'#ref!"],
  ['#BEZUG!', "'#BEZUG!"],
  ['#¡VALOR!', "'#¡VALOR!"],
  [' #NV', "' #NV"],
  ['＃N/A', "'＃N/A"],
  ['first;#NAME?', "first;'#NAME?"],
  ["'#N/A", "''#N/A"],
  ['wave #2', 'wave #2'],
  ['{"a": -1}', '{"a": -1}'],
] as const

test('an apostrophe goes before each place where a formula or an error value could begin, and nowhere else', async () => {
  expect(await guarded(CASES.map(([text]) => text))).toEqual(CASES.map(([, expected]) => expected))
})

/** Takes away one apostrophe at each place, as docs/how-to/excel.md says. */
const unguarded = (text: string): string =>
  text.replaceAll(
    /(^|[;\t\r\n])'((?:[\p{Z}\p{Cf}']|(?![\t\r\n])\p{Cc})*[=+\-@#＝＋－＠＃])/gu,
    (_, before: string, formula: string) => before + formula,
  )

test('taking the apostrophes away gives the exact texts, and no guarded text begins a formula or an error value', async () => {
  const text = fc.string({
    unit: fc.constantFrom('=', '-', '#', "'", ';', '\n', '\t', ' ', 'a', ','),
    maxLength: 12,
  })
  const texts = fc.sample(text, 2_000)
  const found = await guarded(texts)
  expect(found.map((one) => unguarded(String(one)))).toEqual(texts)
  expect(found.filter((one) => /(^|[;\t\r\n])\s*[=+\-@#]/.test(String(one)))).toEqual([])
})
