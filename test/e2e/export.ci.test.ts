/** Exports hold every value of one published state. They are read with plain tools, and they overwrite no foreign file. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readXlsx } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { type Export, exportTables } from '../../src/commands/export.js'
import { EXPORT_FORMATS } from '../../src/commands/table/read.js'
import { openDatabase } from '../../src/warehouse/connection/database.js'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { gate, openSynced } from '../support/command/trial.js'
import { query } from '../support/warehouse/duckdb.js'
import { csv, MAIN_TABLES, ODD, openPublished } from './export-shared.js'

test.concurrent('a CSV export during a sync has every published table, distinguishes null from empty text, and writes times in UTC', async (context) => {
  const trial = await openPublished(context)
  const out = join(await trial.temporary(), 'new', 'csv')
  const release = gate<boolean>()
  trial.api.hook = () => release.opened
  const arrived = trial.api.arrived(() => true)
  const running = trial.run(['sync'])
  await arrived
  const ended = await trial.runWarm(['export', '--format', 'csv', '--out', out, '--json'])
  release.open(false)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  expect(await running).toMatchObject({ code: 0 })

  const tables = (await trial.rows(MAIN_TABLES)).map(({ name }) => String(name))
  expect((await readdir(out)).sort()).toEqual(['export.json', ...tables.map((name) => `${name}.csv`)].sort())
  const manifest = JSON.parse(ended.stdout)
  expect(manifest).toMatchObject({ out, format: 'csv', source: trial.published })
  const text = await readFile(join(out, 'surveys.csv'), 'utf8')
  expect(text.split('\r\n')[0]).toMatch(/^account,id,title,created_at,/)
  expect(text).toContain('"one, ""two""\nthree\rfour; Ünï\ttab",')
  expect(text).toContain(',2026-01-01T00:00:00.000001Z,s1,"",')
  expect(text).toContain(',s2,,')
  expect(text).toContain(',"{""mood"":{""a"":null,""b"":[""\\"""","",""]}}",')
  for (const table of tables) {
    const entry = manifest.tables.find((one: { table: string }) => one.table === table)
    const [counted] = await query(
      ':memory:',
      `SELECT count(*) AS rows FROM ${csv(join(out, `${table}.csv`))}`,
    )
    expect(counted, table).toEqual({ rows: entry.rows })
  }
  const asText = `SELECT id, title, project_id, _extra, _missing_since
    FROM ${csv(join(out, 'surveys.csv'))} ORDER BY id::BIGINT`
  expect(await query(':memory:', asText)).toMatchObject([
    {
      id: '1',
      title: ODD.title,
      project_id: '',
      _extra: '{"mood":{"a":null,"b":["\\"",","]}}',
      _missing_since: null,
    },
    { id: '2', project_id: null, _extra: null },
    { id: '3' },
  ])
})

test.concurrent('spreadsheet programs get typed workbooks, and CSV without formulas only if it is requested', async (context) => {
  const trial = await openSynced(context, [
    scriptedSurvey(1, { title: '=1+1', project_id: '00123' }),
    scriptedSurvey(2, { title: 'x'.repeat(40_000), project_id: 'a;@b' }, 0),
  ])
  const out = join(await trial.temporary(), 'out')
  const exportAs = (...args: readonly string[]) =>
    trial.runWarm(['export', '--out', out, '--tables', 'surveys', ...args])

  const workbook = await exportAs('--format', 'xlsx')
  expect(workbook).toMatchObject({ code: 0, stderr: '' })
  expect(workbook.stdout).toMatch(/^surveys {2}fieldwork\.xlsx +2 +\S+ KiB$/m)
  expect(workbook.stdout).toContain(
    'texts cut at 32,767 characters, the most of a cell: surveys: 1. Parquet and CSV hold them whole\n',
  )
  expect((await readdir(out)).sort()).toEqual(['export.json', 'fieldwork.xlsx'])
  const { sheets } = await readXlsx(await readFile(join(out, 'fieldwork.xlsx')))
  const [header = [], first = []] = sheets[0]?.rows ?? []
  const cells = Object.fromEntries(header.map((name, index) => [String(name), first[index]]))
  expect(cells).toMatchObject({ id: '1', title: '=1+1', project_id: '00123', respondent_questions_count: 10 })
  expect(cells.created_at).toBeInstanceOf(Date)
  expect(sheets[0]?.freezePane).toEqual({ rows: 1, columns: 3 })

  expect(await exportAs('--format', 'csv')).toMatchObject({ code: 0 })
  expect(await readFile(join(out, 'surveys.csv'), 'utf8')).toMatch(/^account,id,title,.*\r\n[^,]*,1,=1\+1,/)
  expect(await exportAs('--format', 'csv', '--bom')).toMatchObject({ code: 0 })
  const guarded = await readFile(join(out, 'surveys.csv'), 'utf8')
  expect(guarded).toMatch(/^\ufeffaccount,id,title,.*\r\n[^,]*,1,'=1\+1,/)
  expect(guarded).toContain(",a;'@b,")
  expect(JSON.parse(await readFile(join(out, 'export.json'), 'utf8'))).toMatchObject({ bom: true })
  // An earlier version wrote an export.json without this field. Its export is replaced too.
  const manifest = join(out, 'export.json')
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace(' "bom": true,\n', ''))
  expect(await exportAs('--format', 'csv')).toMatchObject({ code: 0 })
  for (const format of ['parquet', 'xlsx'])
    expect(await exportAs('--format', format, '--bom')).toMatchObject({
      code: 2,
      stderr: 'fieldwork-sync: --bom is only for --format csv. See fieldwork-sync export --help\n',
    })
})

test.concurrent('an export that is refused prints one line and changes nothing', async (context) => {
  const trial = await openPublished(context)
  const root = await trial.temporary()
  const out = join(root, 'out')
  const expectRefusal = async (says: string, ...args: string[]) => {
    const ended = await trial.runWarm(['export', '--format', 'csv', '--out', out, ...args])
    expect(ended, says).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr.trimEnd().split('\n'), says).toHaveLength(1)
    expect(ended.stderr).toContain(says)
  }
  const expectTableRefusal = async (says: string, request: Partial<Export>) =>
    expect(
      await exportTables({
        source: trial.published,
        open: () => openDatabase(trial.published, { readOnly: true }),
        out,
        format: 'csv',
        bom: false,
        tables: null,
        signal: new AbortController().signal,
        ...request,
      }).catch((error: unknown) => error),
      says,
    ).toMatchObject({ exitCode: 2, message: expect.stringMatching(new RegExp(`^[^\\n]*${says}[^\\n]*$`)) })
  await expectRefusal('there is no table survey: did you mean surveys?', '--tables', 'survey')
  await expectTableRefusal('there is no table runs: did you mean _sync.runs', { tables: ['surveys', 'runs'] })
  await expectRefusal('use fieldwork-sync query "SELECT … WHERE …" --out rows.csv', '--where', 'id = 3')
  await expectRefusal(
    `export needs --format ${EXPORT_FORMATS.join(' or --format ')}: did you mean csv?`,
    '--format',
    'cvs',
  )
  await expectRefusal('there is no', '--warehouse', join(root, 'nowhere'))
  expect(await readdir(root)).toEqual([])

  await mkdir(out)
  await writeFile(join(out, 'mine.txt'), 'mine')
  await expectRefusal(`--out ${out} holds mine.txt, which is not part of an export`)
  expect(await readdir(out)).toEqual(['mine.txt'])
  const file = join(root, 'a-file')
  await writeFile(file, '')
  await expectRefusal('is not a directory', '--out', file)

  // A killed export leaves a temporary directory, which the next export removes. Other files beside an export stay.
  const again = join(root, 'again')
  await mkdir(join(root, '.again.999999999.00000000-0000-4000-8000-000000000000.exporting'))
  expect(await trial.runWarm(['export', '--format', 'csv', '--out', again])).toMatchObject({ code: 0 })
  expect((await readdir(root)).sort()).toEqual(['a-file', 'again', 'out'])
  await writeFile(join(again, 'notes.md'), '')
  await expectRefusal('holds notes.md', '--out', again)
  const inTheWay = await trial.runWarm(['export', '--format', 'csv', '--out', join(file, 'below')])
  expect(inTheWay).toMatchObject({ code: 7, stdout: '' })
  expect(inTheWay.stderr).toContain(`cannot export to ${join(file, 'below')}`)
})
