/**
 * openpyxl, pandas and LibreOffice read the workbooks of an export: every cell has the type and the value of the table.
 * LibreOffice opens each workbook and saves it anew, and openpyxl reads what LibreOffice has understood.
 */
import { spawnSync } from 'node:child_process'
import { chmod, copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cellRef, rangeRef } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ALL } from '../../../src/commands/export/relations.js'
import { fixedPane, headerComment, isText } from '../../../src/commands/text/sheet.js'
import type { Column, TableDeclaration } from '../../../src/model/columns.js'
import { tableName } from '../../../src/model/sync-tables.js'
import { surveysHistory } from '../../../src/model/tables.js'
import { openDatabase } from '../../../src/warehouse/connection/database.js'
import { scriptedSurvey } from '../../support/api/scripted-api.js'
import { openTrial } from '../../support/command/trial.js'
import { lacks } from '../../support/suite/lacks.js'
import { openReader, type Row } from '../../support/warehouse/duckdb.js'
import { insertRows } from '../../support/warehouse/long-table.js'
import { lacksEnvironment, runPython } from './python.js'

const SCRIPT = fileURLToPath(new URL('read_workbook.py', import.meta.url))

const TITLES = [
  ...['=1+1', `=cmd|' /C calc'!A0`, '@SUM(1+1)', '-5', '00123', '1e5', '2026-03-01', 'TRUE'],
  ...'#N/A #REF! #DIV/0! #VALUE! #NAME? #NULL! #NUM! #SPILL!'.split(' '),
  ...'#CALC! #GETTING_DATA #FIELD! #BLOCKED! #PYTHON!'.split(' '),
  ...['#n/a', '#NV', '#BEZUG!', '#¡VALOR!', '# 1', '#N/A ', '#\n<&>\t', 'Err:502'],
  ...['<script>alert("&amp;")</script>', 'emoji 😀👩‍👩‍👧', 'مرحبا بالعالم', 'one\ntwo\r\nthree\rfour\ttab'],
  ...['  spaces  ', '_x0041_', '\u0001\u001f\ufffe', '\ufeffmark', '', 'x'.repeat(40_000)],
]

const textOrTime = [z.object({ text: z.string() }), z.object({ time: z.number() })] as const
const cell = z.union([z.null(), z.boolean(), z.number(), ...textOrTime])
const rows = z.array(z.array(cell))
const sheet = z.object({
  name: z.string(),
  pane: z.string().nullable(),
  filter: z.string().nullable(),
  bold: z.boolean(),
  comments: z.array(z.string().nullable()),
  rows,
})
const workbook = z.object({ sheets: z.array(sheet), frames: z.record(z.string(), rows) })
type Cell = z.output<typeof cell>

/** The value of a table as a sheet must hold it. */
const expected = (column: Column, value: unknown): Cell => {
  if (value === null) return null
  if (isText(column)) return { text: fitted(String(value)) }
  if (column.type === 'BIGINT' || column.type === 'DOUBLE') return Number(value)
  if (column.type === 'BOOLEAN') return value === true
  return { time: Number(value) }
}

const fitted = (text: string): string => {
  const lines = text.replaceAll(/\r\n?/g, '\n')
  const note = `… [cut: ${lines.length} characters]`
  return lines.length > 32_767 ? `${lines.slice(0, 32_767 - note.length)}${note}` : lines
}

const selected = ({ name, type }: Column): string => {
  if (type === 'TIMESTAMPTZ') return `epoch_us("${name}") // 1000 AS "${name}"`
  if (type === 'DATE') return `epoch_ms("${name}") AS "${name}"`
  if (type === 'DOUBLE') return `"${name}"`
  // The client drops a byte order mark at the beginning of a text.
  return type === 'VARCHAR' || type === 'JSON' ? `'.' || "${name}" AS "${name}"` : `"${name}"`
}

const expectedRows = async (file: string, table: TableDeclaration): Promise<Cell[][]> => {
  using reader = await openReader(file)
  const order = table.key.length > 0 ? table.key : table.columns.map(({ name }) => name)
  const rows: Row[] = await reader.query(
    `SELECT ${table.columns.map(selected).join(', ')} FROM ${table.schema}.${table.name} t
      ORDER BY ${order.map((name) => `t."${name}"`).join(', ')}`,
  )
  return rows.map((row) =>
    table.columns.map((column) => {
      const value = row[column.name] ?? null
      return expected(
        column,
        typeof value === 'string' && isText(column) && column.type !== 'BIGINT' ? value.slice(1) : value,
      )
    }),
  )
}

test.skipIf(lacksEnvironment('spreadsheets') || lacks('soffice'))(
  'openpyxl, pandas and LibreOffice read every cell of every table and view with its type and value',
  async (context) => {
    const trial = await openTrial(
      context,
      TITLES.map((title, index) => scriptedSurvey(index + 1, { title, mood: { a: `=${index}` } }, index % 3)),
    )
    expect(await trial.run(['sync', '--publish', 'duckdb'])).toMatchObject({ code: 0 })
    // One table, and the view of it, is longer than the shared workbook allows.
    const root = await trial.temporary()
    const published = join(root, 'warehouse', 'fieldwork.duckdb')
    await mkdir(join(root, 'warehouse'))
    await copyFile(trial.published, published)
    await chmod(published, 0o600)
    const database = await openDatabase(published)
    await database.exclusively(async (sql) => {
      await sql.run(insertRows(surveysHistory, 450))
      await sql.run(`UPDATE surveys_history SET title = repeat('=', 40000) WHERE account = 'acme'`)
      await sql.run(`UPDATE surveys_history SET title = '#N/A' WHERE account = 'acme' AND id <= 5`)
    })
    await database.close()

    const out = join(root, 'out')
    const names = ALL.map(tableName)
    const ended = await trial.run([
      ...['export', '--format', 'xlsx', '--out', out, '--json', '--tables', names.join(',')],
      ...['--warehouse', join(root, 'warehouse')],
    ])
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    const manifest = JSON.parse(ended.stdout)
    const files = [...new Set<string>(manifest.tables.map(({ file }: { file: string }) => file))]
    expect(files.toSorted()).toEqual([
      'fieldwork.xlsx',
      'survey_periods.xlsx',
      'survey_status_changes.xlsx',
      'surveys_history.xlsx',
    ])
    const alone = files.map((file) => file.replace('.xlsx', ''))
    const workbooks = [files.map((file) => join(out, file))]
    const saved = join(root, 'libreoffice')
    const profile = `-env:UserInstallation=file://${join(root, 'profile')}`
    const { status, stderr } = spawnSync(
      'soffice',
      [profile, '--headless', '--convert-to', 'xlsx', '--outdir', saved, ...(workbooks[0] ?? [])],
      { encoding: 'utf8' },
    )
    expect(status, stderr).toBe(0)
    workbooks.push(files.map((file) => join(saved, file)))
    for (const paths of workbooks) {
      const isOriginal = paths === workbooks[0]
      const read = z.array(workbook).parse(await runPython('spreadsheets', SCRIPT, paths))
      const sheets = read.flatMap((one) => one.sheets)
      expect(sheets.map(({ name }) => name).sort()).toEqual([...names, 'Columns'].sort())
      for (const table of ALL) {
        const sheet = sheets.find(({ name }) => name === tableName(table))
        const frame = read.map(({ frames }) => frames[tableName(table)]).find((rows) => rows !== undefined)
        const what = `${tableName(table)}${isOriginal ? '' : ', saved by LibreOffice'}`
        const header = table.columns.map(({ name }) => ({ text: name }))
        const rows = [header, ...(await expectedRows(published, table))]
        expect(differences(sheet?.rows ?? [], rows), what).toEqual([])
        expect(differences(frame ?? [], rows), `${what}, pandas`).toEqual([])
        // Without a window, LibreOffice saves no view of any workbook.
        const { rows: fixedRows, columns: fixedColumns = 0 } = fixedPane(table.columns)
        if (isOriginal) expect(sheet?.pane, what).toBe(cellRef(fixedRows, fixedColumns))
        // hucre streams neither filters, nor comments, nor fonts of the header.
        const isAlone = alone.includes(table.name)
        expect(sheet?.filter, what).toBe(
          isAlone ? null : rangeRef(0, 0, rows.length - 1, table.columns.length - 1),
        )
        expect(sheet?.bold, what).toBe(!isAlone)
        expect(sheet?.comments, what).toEqual(
          isAlone ? table.columns.map(() => null) : table.columns.map(headerComment),
        )
      }
    }
  },
)

/** The first cells that differ. */
const differences = (
  found: readonly (readonly Cell[])[],
  rows: readonly (readonly Cell[])[],
): readonly unknown[] => {
  if (found.length !== rows.length) return [{ found: found.length, expected: rows.length }]
  return rows
    .flatMap((row, r) =>
      row.map((one, c) => ({
        place: `row ${r}, column ${c}`,
        expected: comparable(one),
        found: comparable(found[r]?.[c] ?? null),
      })),
    )
    .filter((one) => JSON.stringify(one.expected) !== JSON.stringify(one.found))
    .slice(0, 5)
}

/** Neither pandas nor LibreOffice distinguishes an empty text from an empty cell. LibreOffice saves 15 digits of a number. */
const comparable = (one: Cell): Cell => {
  if (typeof one === 'number') return Number(one.toPrecision(15))
  return one !== null && typeof one === 'object' && 'text' in one && one.text === '' ? null : one
}
