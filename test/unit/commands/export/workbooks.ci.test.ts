import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { colToLetter, readXlsx } from 'hucre/xlsx'
import { beforeAll, expect, test } from 'vitest'
import { sharedTables } from '../../../../src/commands/export/workbooks.js'
import { type Export, exportTables } from '../../../../src/commands/export.js'
import { surveyProgressHistory, surveys } from '../../../../src/model/tables.js'
import { openDatabase } from '../../../../src/warehouse/connection/database.js'
import { literal } from '../../../../src/warehouse/connection/ddl.js'
import { workFile } from '../../../../src/warehouse/lifecycle/files.js'
import { insertRows } from '../../../support/warehouse/long-table.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

/** Their titles take more room than the shared workbook has. Most of a title is cut off, so that the files stay small. */
const SURVEYS = 60
const TITLE_CHARACTERS = 260_000

let source = ''
beforeAll(async () => {
  const finished: (() => Promise<void> | void)[] = []
  const { directory, database, run } = await testWarehouse(undefined, (work) => void finished.unshift(work))
  await run(insertRows(surveys, SURVEYS))
  await run(`UPDATE surveys SET title = repeat('=', ${TITLE_CHARACTERS})`)
  await run(insertRows(surveyProgressHistory, 3))
  await run('CHECKPOINT')
  await database.close()
  source = workFile(directory)
  return async () => {
    for (const work of finished) await work()
  }
})

const exportTo = (out: string, request: Partial<Export> = {}) =>
  exportTables({
    source,
    open: (options) => openDatabase(source, { ...options, readOnly: true }),
    out,
    format: 'xlsx',
    bom: false,
    tables: ['surveys', 'survey_progress_history', 'survey_progress'],
    signal: new AbortController().signal,
    ...request,
  })

const sheetsOf = async (file: string) => (await readXlsx(await readFile(file))).sheets

test.each([
  ['one\ntwo', 8, 15],
  ['x'.repeat(30), 30, 45],
  ['x'.repeat(60), 60, 60],
])(
  'a sheet with the title %j has a filter, stays at its titles, and is as wide as its texts; its header has the font of its cells',
  async (title, least, most) => {
    const { directory, database, run } = await testWarehouse()
    await run(insertRows(surveys, 1))
    await run(`UPDATE surveys SET title = ${literal(title)}, project_id = 'P'`)
    await database.close()
    const out = join(directory, 'out')
    const open: Export['open'] = (options) =>
      openDatabase(workFile(directory), { ...options, readOnly: true })
    await exportTo(out, { source: workFile(directory), open, tables: ['survey_progress', 'surveys'] })
    const { sheets } = await readXlsx(await readFile(join(out, 'fieldwork.xlsx')), { readStyles: true })
    expect(sheets.map(({ name }) => name)).toEqual(['survey_progress', 'surveys', 'Columns'])
    const [empty, filled, columns] = sheets
    expect(filled?.autoFilter?.range).toBe(`A1:${colToLetter(surveys.columns.length - 1)}2`)
    expect(empty?.autoFilter?.range).toMatch(/^A1:[A-Z]+1$/)
    expect(columns?.autoFilter?.range).toMatch(/^A1:E\d+$/)
    // account, id and title stay; a table without titles has only its header.
    expect(filled?.freezePane).toEqual({ rows: 1, columns: 3 })
    expect(empty?.freezePane).toEqual({ rows: 1 })
    expect(filled?.cells?.get('0,2')?.style?.font).toMatchObject({ name: 'Calibri', bold: true })
    const width = filled?.columns?.[2]?.width ?? 0
    expect(width).toBeGreaterThanOrEqual(least)
    expect(width).toBeLessThanOrEqual(most)
  },
)

test('without --tables, a workbook begins with surveys_today and needs_action', async ({
  onTestFinished,
}) => {
  const { directory, database } = await testWarehouse(undefined, onTestFinished)
  await database.close()
  const [small, out] = [workFile(directory), join(directory, 'out')]
  const open: Export['open'] = (options) => openDatabase(small, { ...options, readOnly: true })
  await exportTo(out, { source: small, open, tables: null })
  const names = (await sheetsOf(join(out, 'fieldwork.xlsx'))).map(({ name }) => name)
  expect(names.slice(0, 3)).toEqual(['surveys_today', 'needs_action', 'surveys'])
  const manifest = await exportTo(out, { source: small, open, tables: null, format: 'csv' })
  expect(manifest.tables.map(({ table }) => table)).toEqual(names.slice(2, -1))
})

/** What Excel takes for an error, a boolean, a number or a date when a person enters it. */
const LOOKALIKES = [
  ...'#N/A #REF! #DIV/0! #VALUE! #NAME? #NULL! #NUM! #SPILL! #CALC! #GETTING_DATA'.split(' '),
  ...['#BLOCKED!', '#n/a', '#BEZUG!', '#1 <&>', 'TRUE', 'false', '00123', '1e5', '2026-03-01', '=1+1'],
]

test('a text that looks like an error, a boolean, a number or a date stays a text', async ({
  onTestFinished,
}) => {
  const { directory, database, run } = await testWarehouse(undefined, onTestFinished)
  await run(insertRows(surveys, LOOKALIKES.length))
  for (const [index, title] of LOOKALIKES.entries())
    await run(`UPDATE surveys SET title = ${literal(title)} WHERE id = ${index + 1}`)
  await database.close()
  const [small, out] = [workFile(directory), join(directory, 'out')]
  const open: Export['open'] = (options) => openDatabase(small, { ...options, readOnly: true })
  await exportTo(out, { source: small, open, tables: ['surveys'] })
  const workbook = await readXlsx(await readFile(join(out, 'fieldwork.xlsx')), { readStyles: true })
  const titles = LOOKALIKES.map((_, index) => workbook.sheets[0]?.cells?.get(`${index + 1},2`))
  expect(titles.map((cell) => cell?.value)).toEqual(LOOKALIKES)
  expect(titles.filter((cell) => cell?.type !== 'string' && cell?.type !== 'richText')).toEqual([])
})

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
