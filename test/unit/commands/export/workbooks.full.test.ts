import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { readXlsx } from 'hucre/xlsx'
import { beforeAll, expect, test } from 'vitest'
import { StoppedError } from '../../../../src/base/errors.js'
import { type Export, exportTables } from '../../../../src/commands/export.js'
import { surveyProgressHistory, surveys } from '../../../../src/model/tables.js'
import { openDatabase } from '../../../../src/warehouse/connection/database.js'
import { workFile } from '../../../../src/warehouse/lifecycle/files.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
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

const range = (rows: number) => Array.from({ length: rows }, (_, index) => String(index + 1))

const sheetsOf = async (file: string) => (await readXlsx(await readFile(file))).sheets

test('a table that is too large for the shared workbook gets its own; all files are equal in a second export', async ({
  onTestFinished,
}) => {
  const out = join(await temporaryDirectory(onTestFinished), 'out')
  const manifest = await exportTo(out)
  expect(manifest.tables.map(({ table, file, rows, cut_texts }) => [table, file, rows, cut_texts])).toEqual([
    ['surveys', 'surveys.xlsx', SURVEYS, SURVEYS],
    ['survey_progress_history', 'fieldwork.xlsx', 3, 0],
    ['survey_progress', 'fieldwork.xlsx', 0, 0],
  ])
  const shared = await sheetsOf(join(out, 'fieldwork.xlsx'))
  expect(shared.map(({ name, rows }) => [name, rows.length])).toEqual([
    ['survey_progress_history', 4],
    ['survey_progress', 1],
    ['Columns', expect.any(Number)],
  ])
  expect(shared[2]?.rows).toContainEqual(['surveys', 'surveys.xlsx', 'id', 'BIGINT', 'ID of the survey'])
  const [alone] = await sheetsOf(join(out, 'surveys.xlsx'))
  expect(alone?.name).toBe('surveys')
  expect(alone?.rows[0]).toEqual(surveys.columns.map(({ name }) => name))
  expect(alone?.rows.map((row) => row[1])).toEqual(['id', ...range(SURVEYS)])
  expect(String(alone?.rows.at(-1)?.[2])).toMatch(/^=+… \[cut: 260000 characters\]$/)
  const again = await exportTo(out)
  expect(again.tables).toEqual(manifest.tables)
})

test('a stop while a workbook is written leaves the previous export', async ({ onTestFinished }) => {
  const root = await temporaryDirectory(onTestFinished)
  const out = join(root, 'out')
  await exportTo(out, { tables: ['survey_progress'] })
  const before = await readFile(join(out, 'export.json'), 'utf8')
  const stop = new AbortController()
  const running = exportTo(out, { signal: stop.signal }).catch((error: unknown) => error)
  const hasBegun = async () => {
    const unfinished = (await readdir(root)).find((name) => name.endsWith('.exporting'))
    return unfinished !== undefined && (await readdir(join(root, unfinished))).includes('surveys.xlsx')
  }
  for (let attempt = 0; attempt < 1_000_000; attempt += 1) {
    if (await hasBegun()) break
    await turn()
  }
  stop.abort(new StoppedError('stopped'))
  expect(await running).toMatchObject({ message: 'stopped' })
  expect(await readFile(join(out, 'export.json'), 'utf8')).toBe(before)
  expect(await readdir(root)).toEqual(['out'])
})
