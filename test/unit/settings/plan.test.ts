/** The plan: what spreadsheets and people write, and what is said of the lines that cannot be read. */
import { describe, expect, test } from 'vitest'
import { ACCOUNT, anotherAccount, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

const YAML = `${ACCOUNT}plan: plans/plan.csv\n`
const FILE = '/etc/fs/plans/plan.csv'

/** What `sync` gets of a file with this text. */
const planOf = async (text: string, yaml = YAML) =>
  (await load({ yaml, files: { [FILE]: text }, withReports: true })).plan

const read = async (text: string) => (await planOf(text))?.rows

const due = (survey_id: number | null, due_on: string, more: object = {}) => ({
  ...{ account: 'acme', survey_id, project_id: null, due_on, note: null },
  ...more,
})

describe('what is read', () => {
  const two = [
    due(4711, '2026-03-12', { note: 'first wave' }),
    due(null, '2026-04-01', { project_id: 'P 7' }),
  ]
  const LINES = 'survey_id,project_id,due_on,note\n4711,,2026-03-12,first wave\n,P 7,2026-04-01,\n'

  test.each([
    ['commas', LINES],
    ['semicolons', LINES.replaceAll(',', ';')],
    ['line breaks of Windows', LINES.replaceAll('\n', '\r\n')],
    ['line breaks of an old Mac', LINES.replaceAll('\n', '\r')],
    ['a byte order mark', `\ufeff${LINES}`],
    ['no line break at the end', LINES.trimEnd()],
    ['empty lines, and lines of empty cells', LINES.replace('\n,', '\n\n,,,\n , ,,\n,')],
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
  ])('%s', async (_, text) => {
    expect(await planOf(text)).toEqual({ path: FILE, rows: two, rejectedLines: 0, problems: [] })
  })

  test('a note with quotes, line breaks and separators, and what would act elsewhere', async () => {
    const note = '"=cmd|x!A1", <b>; \u0000 \u001b[31m'
    const text = `survey_id,due_on,note\r\n1,2026-03-12,"${note.replaceAll('"', '""')}\r\nmore"\r\n2,x,\r\n`
    expect(await planOf(text)).toMatchObject({
      rows: [due(1, '2026-03-12', { note: `${note}\nmore` })],
      problems: ['line 4: due_on must be a day as YYYY-MM-DD, such as 2026-12-31, not "x"'],
    })
  })

  test('a line with both ids is about the survey', async () => {
    expect(await read('survey_id,project_id,due_on\n7,P,2026-03-12\n')).toEqual([due(7, '2026-03-12')])
  })

  test('a file without lines is an empty plan', async () => {
    expect(await planOf('survey_id;due_on\n')).toMatchObject({ rows: [], problems: [] })
  })

  test.each(['2000-01-01', '2199-12-31', '2028-02-29'])('the day %s', async (day) => {
    expect(await read(`survey_id,due_on\n1,${day}\n`)).toEqual([due(1, day)])
  })

  test.each(['1', '9007199254740991'])('the survey %s', async (id) => {
    expect(await read(`survey_id,due_on\n${id},2026-03-12\n`)).toEqual([due(Number(id), '2026-03-12')])
  })
})

describe('lines that are rejected', () => {
  const isDay = 'due_on must be a day as YYYY-MM-DD'
  test.each([
    ['1,31.12.2026', `${isDay}: write 2026-12-31 instead of 31.12.2026`],
    ['1,1.2.2026', `${isDay}: write 2026-02-01 instead of 1.2.2026`],
    ['1,31.02.2026', `${isDay}, such as 2026-12-31, not "31.02.2026"`],
    ['1,12/31/2026', `${isDay}, such as 2026-12-31, not "12/31/2026"`],
    ['1,2026-3-1', `${isDay}, such as 2026-12-31, not "2026-3-1"`],
    ['1,2026-03-12T00:00:00Z', `${isDay}, such as 2026-12-31, not "2026-03-12T00:00:00Z"`],
    ['1,', `${isDay}, and is empty`],
    ['1', `${isDay}, and is empty`],
    ['1,2026-02-29', 'due_on 2026-02-29 is no day of the calendar'],
    ['1,2026-13-01', 'due_on 2026-13-01 is no day of the calendar'],
    ['1,1999-12-31', 'due_on 1999-12-31 must be between 2000 and 2199'],
    ['1,2200-01-01', 'due_on 2200-01-01 must be between 2000 and 2199'],
    [',2026-03-12', 'needs a survey_id or a project_id'],
    ['x,2026-03-12', 'survey_id must be the number of a survey, not "x"'],
    ['0,2026-03-12', 'survey_id must be the number of a survey, not "0"'],
    ['-1,2026-03-12', 'survey_id must be the number of a survey, not "-1"'],
    ['1.0,2026-03-12', 'survey_id must be the number of a survey, not "1.0"'],
    ['9007199254740992,2026-03-12', 'survey_id must be the number of a survey, not "9007199254740992"'],
    [
      '1,2026-03-12,late, really',
      'has more cells than the first line: put a note with a comma or semicolon in quotes',
    ],
    ['1,2026-03-12,5" screen', 'a quote inside a cell: put the cell in quotes, and write "" for the quote'],
    ['8,2026-03-13', 'survey 8 is in line 2 already'],
    ['8,2026-03-12', 'survey 8 is in line 2 already'],
  ])('%s', async (line, problem) => {
    const [first, last] = ['8,2026-03-12,first', '9,2026-03-12,last']
    expect(await planOf(`survey_id,due_on,note\n${first}\n${line}\n${last}\n`)).toEqual({
      path: FILE,
      rows: [due(8, '2026-03-12', { note: 'first' }), due(9, '2026-03-12', { note: 'last' })],
      rejectedLines: 1,
      problems: [`line 3: ${problem}`],
    })
  })

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
  const columns =
    'the first line must name the columns: survey_id or project_id, due_on, and note if you like'
  test.each([
    ['nothing', '', `line 1: there is no column due_on; ${columns}`],
    ['no header', '4711,2026-03-12\n', `line 1: there is no column due_on; ${columns}`],
    ['tabs', 'survey_id\tdue_on\n1\t2026-03-12\n', `line 1: there is no column due_on; ${columns}`],
    [
      'no id',
      'due_on,note\n2026-03-12,x\n',
      `line 1: there is no column survey_id or project_id; ${columns}`,
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
    rows: [due(1, '2026-03-12'), due(1, '2026-03-12', { account: 'globex' })],
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
