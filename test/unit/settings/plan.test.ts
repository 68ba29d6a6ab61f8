/** The plan: what spreadsheets and people write, and what is said of the lines that cannot be read. */
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { PLAN_FIELDS, type PlanLine } from '../../../src/model/tables.js'
import { ACCOUNT, anotherAccount, load, problemsOf } from '../../support/settings/settings-from-yaml.js'
import { planLine } from '../../support/warehouse/rows.js'

const YAML = `${ACCOUNT}plan: plans/plan.csv\n`
const FILE = '/etc/fs/plans/plan.csv'

/** What `sync` gets of a file with this text. */
const planOf = async (text: string, yaml = YAML) =>
  (await load({ yaml, files: { [FILE]: text }, withReports: true })).plan

const due = (survey_id: number | null, due_on: string, more: Partial<PlanLine> = {}) =>
  planLine({ survey_id, due_on, line: 2, ...more })

describe('what is read', () => {
  const two = (second: number) => [
    due(4711, '2026-03-12', { note: 'first wave' }),
    due(null, '2026-04-01', { project_id: 'P 7', line: second }),
  ]
  const LINES = 'survey_id,project_id,due_on,note\n4711,,2026-03-12,first wave\n,P 7,2026-04-01,\n'

  test.each([
    ['commas', LINES],
    ['semicolons', LINES.replaceAll(',', ';')],
    ['line breaks of Windows', LINES.replaceAll('\n', '\r\n')],
    ['line breaks of an old Mac', LINES.replaceAll('\n', '\r')],
    ['a byte order mark', `\ufeff${LINES}`],
    ['no line break at the end', LINES.trimEnd()],
    ['separators at the end', LINES.replaceAll('\n', ',,\n')],
    ['quotes', LINES.replaceAll(/[^,\n]+/g, '"$&"')],
    ['space around the cells', LINES.replaceAll(',', ' ,  ')],
    [
      'capitals and spaces in the names of the columns',
      LINES.replace(/.*/, 'Survey ID,PROJECT_ID,Due on,Note'),
    ],
    [
      'another order, and other columns',
      'due_on,Title,note,survey_id,project_id\n2026-03-12,T,first wave,4711,\n2026-04-01,"T,U",,,P 7\n',
    ],
    ['a title with a semicolon', LINES.replace('note', 'note,"Title; wave"')],
  ])('%s', async (_, text) => {
    expect(await planOf(text)).toEqual({ path: FILE, rows: two(3), rejectedLines: 0, problems: [] })
  })

  test('empty lines, and lines of empty cells', async () => {
    const text = LINES.replace('\n,', '\n\n,,,\n , ,,\n,')
    expect(await planOf(text)).toEqual({ path: FILE, rows: two(6), rejectedLines: 0, problems: [] })
  })

  test('all columns of a survey and of its sources, with decimal commas where semicolons separate cells', async () => {
    const text = `survey_id;sample_source_id;source;due_on;starts_on;incidence;loi_minutes;cpi;currency;supplier;owner;quiet_until;note
1;;;2026-03-12;2026-03-01;45,5 %;12,5;;eur;;ann@example.com;2026-03-05;"=1+1"
1;9007199254740991;;;;45%;;4,5;EUR;Acme;;;
1;;Panel *;;;;;0;USD;;;;`
    const ofSurvey = { loi_minutes: 12.5, owner: 'ann@example.com', quiet_until: '2026-03-05', note: '=1+1' }
    expect(await planOf(text)).toEqual({
      path: FILE,
      rows: [
        due(1, '2026-03-12', { starts_on: '2026-03-01', incidence: 0.455, ...ofSurvey }),
        planLine({
          ...{ survey_id: 1, sample_source_id: 9007199254740991, incidence: 0.45, cpi: 4.5, currency: 'EUR' },
          ...{ supplier: 'Acme', line: 3 },
        }),
        planLine({ survey_id: 1, source: 'Panel *', cpi: 0, currency: 'USD', line: 4 }),
      ],
      rejectedLines: 0,
      problems: [],
    })
  })

  test('the example', async () => {
    const example = await readFile(new URL('../../../config/plan.example.csv', import.meta.url), 'utf8')
    const found = await planOf(example)
    expect(found).toMatchObject({ rejectedLines: 0, problems: [] })
    expect(found?.rows?.length).toBeGreaterThan(3)
    const shown = Object.keys(PLAN_FIELDS).filter((name) => name !== 'line')
    expect(example.split('\n')[0]?.split(',')).toEqual(shown)
  })

  test('a note with quotes, line breaks and separators, and what would act elsewhere', async () => {
    const note = '"=cmd|x!A1", <b>; \u0000 \u001b[31m'
    const text = `survey_id,due_on,note\r\n1,2026-03-12,"${note.replaceAll('"', '""')}\r\nmore"\r\n2,x,\r\n`
    expect(await planOf(text)).toMatchObject({
      rows: [due(1, '2026-03-12', { note: `${note}\nmore` })],
      problems: ['line 4: due_on must be a day as YYYY-MM-DD, such as 2026-12-31, not "x"'],
    })
  })

  test('a file without lines is an empty plan', async () => {
    expect(await planOf('survey_id;due_on\n')).toMatchObject({ rows: [], problems: [] })
  })
})

describe('lines that are rejected', () => {
  test('a second line of a project, and no line of another text', async () => {
    const text = 'project_id,due_on\nP,2026-03-12\np,2026-03-12\nP,2026-03-12\n'
    expect(await planOf(text)).toMatchObject({
      rows: [{ project_id: 'P' }, { project_id: 'p' }],
      problems: ['line 4: project "P" is in line 2 already'],
    })
  })

  test('projects whose long names differ at their end are two', async () => {
    const projects = ['A', 'B'].map(
      (country) => `Tracker Brand Health Europe 2026 wave 17 Country ${country}`,
    )
    const lines = projects.map((project) => `${project},2026-03-12`)
    expect(await planOf(`project_id,due_on\n${lines.join('\n')}\n`)).toMatchObject({
      rows: projects.map((project_id) => ({ project_id })),
      problems: [],
    })
  })

  test('all are counted, and the first ones have their reasons', async () => {
    const lines = Array.from({ length: 30 }, (_, place) => `${place + 1},soon`)
    const found = await planOf(`survey_id,due_on\n1,2026-03-12\n${lines.join('\n')}`)
    expect(found).toMatchObject({ rows: [due(1, '2026-03-12')], rejectedLines: 30 })
    expect(found?.problems).toHaveLength(20)
  })
})

describe('a file of which no line can be read keeps the plan of earlier runs', () => {
  const noKey = 'line 1: there is no column survey_id, project_id, sample_source_id or source; '
  const columns = 'the first line must name the columns, such as survey_id and due_on'
  test.each([
    ['nothing', '', `${noKey}${columns}`],
    ['no header', '4711,2026-03-12\n', `${noKey}${columns}`],
    ['tabs', 'survey_id\tdue_on\n1\t2026-03-12\n', `${noKey}${columns}`],
    ['UTF-16 that is read as UTF-8', 's\0u\0r\0v\0e\0y\0_\0i\0d\0,\0', `${noKey}${columns}`],
    ['no id', 'due_on,note\n2026-03-12,x\n', `${noKey}${columns}`],
    [
      'no values',
      'survey_id,currency,title\n1,EUR,x\n',
      `line 1: there is no column of values, such as due_on; ${columns}`,
    ],
    [
      'a column twice',
      'survey_id,due_on,Due On\n1,2026-03-12,\n',
      `line 1: due_on is there twice; ${columns}`,
    ],
    [
      'a quote that is not closed',
      'survey_id,due_on,note\n1,2026-03-12,"x\n2,2026-03-12,\n',
      'line 2: a quote is opened, but not closed before the next comma or semicolon',
    ],
    [
      'a quote that the quote of a later line closes',
      'survey_id,due_on,note\n1,2026-03-12,\n2,2026-03-12,"x\n3,2026-03-12,\n4,2026-03-12,"y\n5,2026-03-12,',
      'line 3: a quote is opened, but not closed before the next comma or semicolon',
    ],
  ])('%s', async (_, text, problem) => {
    expect(await planOf(text)).toEqual({ path: FILE, rows: null, rejectedLines: 0, problems: [problem] })
  })

  test('only wrong lines', async () => {
    expect(await planOf('survey_id,due_on\n1,soon\n')).toMatchObject({ rows: null, rejectedLines: 1 })
  })

  test.each([
    ['ERR_ENCODING_INVALID_ENCODED_DATA', 'it is not UTF-8 text; in Excel, save it as "CSV UTF-8"'],
    ['EFBIG', 'it is larger than 1 MiB; is it the right file?'],
  ])('%s', async (code, problem) => {
    const readFile = (path: string) => {
      if (path === FILE) throw Object.assign(new Error('no text'), { code })
      return YAML
    }
    const { plan } = await load({ yaml: YAML, readFile, withReports: true })
    expect(plan).toEqual({ path: FILE, rows: null, rejectedLines: 0, problems: [problem] })
  })
})

test('a file that is not there is a problem of the settings, where it is used', async () => {
  const problem = `settings.yaml:6: plan names the file ${FILE}, which does not exist`
  expect(await problemsOf({ yaml: YAML, withReports: true })).toEqual([problem])
  expect(await problemsOf({ yaml: YAML, withReports: true, requireAccounts: false })).toEqual([])
  expect(await problemsOf({ yaml: YAML })).toEqual([])
  expect((await load({ yaml: ACCOUNT, withReports: true })).plan).toBeNull()
  expect(await problemsOf({ yaml: `${ACCOUNT}plan: ''\n`, withReports: true })).toEqual([
    'settings.yaml:6: plan is empty; it must be a path, as text',
  ])
})

test('with several accounts each line names its own', async () => {
  const yaml = `${ACCOUNT}${anotherAccount('globex')}plan: plans/plan.csv\n`
  const lines = ['acme,1', 'globex,1', ',2', 'Acme,2', 'acme,1'].map((line) => `${line},2026-03-12`)
  const text = `account,survey_id,due_on\n${lines.join('\n')}`
  expect(await planOf(text, yaml)).toEqual({
    path: FILE,
    rows: [due(1, '2026-03-12'), due(1, '2026-03-12', { account: 'globex', line: 3 })],
    rejectedLines: 3,
    problems: [
      'line 4: account must be one of the settings (acme, globex), and is empty',
      'line 5: account must be one of the settings (acme, globex), not "Acme"',
      'line 6: survey 1 of acme is in line 2 already',
    ],
  })
  const chosen = await load({ yaml, files: { [FILE]: text }, withReports: true, flags: { accounts: 'acme' } })
  expect(chosen.plan?.rows).toHaveLength(2)
  const shards = await Promise.all(
    ['0/2', '1/2'].map((shard) =>
      load({ yaml, files: { [FILE]: text }, withReports: true, flags: { shard } }),
    ),
  )
  expect(shards.flatMap(({ plan }) => plan?.rows ?? [])).toHaveLength(2)
  for (const { plan, accountNames } of shards)
    expect(plan?.rows?.map(({ account }) => account)).toEqual(accountNames)
})
