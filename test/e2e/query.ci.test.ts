/** `query` shows rows of the published state in every format, fits 80 columns, and refuses whatever does more than read. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readXlsx } from 'hucre/xlsx'
import { beforeAll, expect, test } from 'vitest'
import { NAMED_QUERIES, sqlToCopy } from '../../src/commands/query/named.js'
import { query as askTables } from '../../src/commands/query.js'
import { loadSettings } from '../../src/settings/load-settings.js'
import { NO_ACCOUNT, scriptedSurvey } from '../support/api/scripted-api.js'
import { MAIN, withEndLine } from '../support/command/command.js'
import { openSynced, openTrial, type Trial } from '../support/command/trial.js'
import { atEndOfFile } from '../support/files/temporary.js'
import { some } from '../support/suite/cases.js'
import { query } from '../support/warehouse/duckdb.js'
import { accountOf } from './check-and-status-shared.js'
import { HOSTILE, LONG, NO_CONTEXT, SURVEYS } from './query-shared.js'

const SHOWN = NAMED_QUERIES.map((query) => ({ ...query, sql: sqlToCopy(query) }))

/** What is published is only read, so all tests ask the same. */
let trial: Trial

beforeAll(async () => {
  trial = await openSynced({ onTestFinished: atEndOfFile }, SURVEYS())
})

const rowsOf = async (...args: readonly string[]) => {
  const ended = await trial.runWarm(['query', ...args])
  expect(ended, ended.stderr).toMatchObject({ code: 0, stderr: '' })
  return ended.stdout
}

test.concurrent('a result is exact in CSV and JSON, and harmless in Markdown and in a table', async () => {
  const SQL = `SELECT id, title, project_id, updated_at, NULL AS nothing, 0.123456 AS rate FROM surveys WHERE id < 3 ORDER BY id DESC;`
  const json = JSON.parse(await rowsOf(SQL, '--json'))
  expect(json).toEqual([
    {
      id: 2,
      title: 'Brand tracker wave 2',
      project_id: null,
      updated_at: expect.stringMatching(/^2026-.*Z$/),
      nothing: null,
      rate: 0.123456,
    },
    { ...json[0], id: 1, title: HOSTILE, project_id: '', updated_at: json[1].updated_at },
  ])
  expect(await rowsOf(SQL, '--format', 'csv')).toBe(
    `id,title,project_id,updated_at,nothing,rate\n2,Brand tracker wave 2,,${json[0].updated_at},,0.123456\n` +
      `1,"${HOSTILE.replaceAll('"', '""')}","",${json[1].updated_at},,0.123456\n`,
  )
  expect(await rowsOf('SELECT id, title FROM surveys WHERE id = 1', '--format', 'markdown')).toBe(
    `| id | title |\n| ---: | --- |\n| 1 |  [31m=1+1\\|\\<b\\>\\_x\\_\\</b\\> "y", \u{1f436} 調査 end |\n`.replace(
      '[31m',
      '\\[31m',
    ),
  )
  expect(await rowsOf('SELECT id, title, 1.5 AS half FROM surveys ORDER BY id')).toBe(
    [
      'id  title                                                           half',
      '--  --------------------------------------------------------------  ----',
      ' 1   [31m=1+1|<b>_x_</b> "y", \u{1f436} 調査 end                            1.5',
      ' 2  Brand tracker wave 2                                             1.5',
      ' 3  A title that is much longer than the column of a table, wave 3   1.5',
      '(3 rows)\n',
    ].join('\n'),
  )
  expect(await rowsOf('FROM surveys WHERE false', '--json')).toBe('[\n]\n')
  // A letter before a text is not always an E, which gives backslashes a meaning. Tags have letters of every language, and a name holds a dollar.
  const odd = String.raw`SELECT 1 AS a, 2 AS a, ('x' NOT LIKE'%\' AND ';' <> ' ' AND E'\';' = chr(39) || ';') AS "b,c",
    $é$;$é$ || $調1_査$;$é$;$調1_査$ || $$;$$ AS a$b$; -- $b$`
  expect(await rowsOf(odd, '--format', 'csv')).toBe('a,a_1,"b,c",a$b$\n1,2,true,;;$é$;;\n')
})

test.concurrent('a table fits 80 columns: a text loses its middle, and too many columns become a block for each row', async () => {
  const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length))
  const cut = await rowsOf('SELECT id, title, title AS again, updated_at FROM surveys WHERE id = 3')
  expect(widest(cut.replace(/\(1 row.*\n/, ''))).toBeLessThanOrEqual(80)
  expect(cut).toMatch(/ {2}A title that…table, wave 3 {2}/)
  expect(cut).toContain('(1 row; longer texts are cut: --format csv or json has them whole)\n')
  const blocks = await rowsOf('FROM surveys ORDER BY id')
  expect(widest(blocks)).toBeLessThanOrEqual(80)
  expect(blocks).toMatch(
    /^account {2,}\S+\nid {2,}1\n[\s\S]*\n\naccount {2,}\S+\nid {2,}2\n[\s\S]*\n\n\(3 rows; longer/,
  )
  const empty = await rowsOf('FROM surveys WHERE false')
  expect(widest(empty)).toBeLessThanOrEqual(80)
  expect(empty).toMatch(/^account {2}id {2}title[\s\S]*\n\(0 rows\)\n$/)
})

test.concurrent('a terminal without columns gets 80, and a wider one its own', async () => {
  const env = { FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
  const { signal } = new AbortController()
  const settings = await loadSettings({ env, flags: {}, requireAccounts: false, signal })
  const input = "SELECT repeat('a ', 100) AS text"
  const widestOn = async (columns: number) => {
    let shown = ''
    const print = (text: string) => {
      shown += text
      return Promise.resolve(true)
    }
    const context = { ...NO_CONTEXT, env, signal, print, tell: print, endNow: () => undefined }
    const request = { input, format: 'table', out: null } as const
    await askTables({ ...context, stdout: { isTTY: true, columns } }, settings, request)
    return Math.max(...shown.split('\n').map((line) => line.length))
  }
  expect([await widestOn(0), await widestOn(120)]).toEqual([80, 120])
})

test.concurrent('every named query runs, by its name and by the SQL that it prints; survey and days are values, not SQL', async () => {
  const list = await rowsOf('--list')
  expect(list.split('\n').filter((line) => line.length > 80)).toEqual([])
  expect(await rowsOf('forecast', '--sql')).toMatch(/^SELECT [\s\S]*\nFROM active_survey_pace\n[\s\S]*;\n$/)
  for (const { name, describe } of SHOWN) expect(list).toMatch(new RegExp(`^${name} +${describe}$`, 'm'))
  // `integration/docs/queries` runs each.
  for (const { name, sql } of some(SHOWN, 1)) {
    const rows = await rowsOf(name, '--json')
    expect(await rowsOf(sql, '--json'), name).toBe(rows)
  }
  const [{ account }] = JSON.parse(await rowsOf('SELECT account FROM surveys LIMIT 1', '--json'))
  const ids = async (...args: string[]) =>
    JSON.parse(await rowsOf(...args, '--json')).map(({ survey_id }: { survey_id: number }) => survey_id)
  expect(await ids('pace-by-day', '--survey', `${account}/2`)).toEqual([2])
  expect(await ids('pace-by-day', '--days', '1', '--survey', '2')).toEqual([2])
  expect(
    await ids(
      'FROM surveys SELECT id AS survey_id WHERE id >= $survey AND $days = 7 ORDER BY id',
      '--survey',
      '2',
      '--days',
      '7',
    ),
  ).toEqual([2, 3])
})

test.concurrent('a table of a named query shows the account where the warehouse has several; other formats always do', async (context) => {
  const trial = await openTrial(context, SURVEYS())
  const account = accountOf(trial.api)
  const shown = async (...args: readonly string[]) =>
    (await trial.runWarm(['query', ...args])).stdout
      .split('\n')[0]
      ?.split(/ +|,/)
      .filter((name) => name !== '')
  const columns = ['survey_id', 'title', 'day', 'interviews', 'gained', 'gained_days']
  const sync = async (...names: readonly string[]) => {
    const settings = await trial.settings({ accounts: names.map((name, place) => account(name, place)) })
    expect(await trial.runWarm(['sync', ...settings], NO_ACCOUNT)).toMatchObject({ code: 0 })
  }
  const QUERY = 'pace-by-day'
  await sync('acme')
  expect(await shown(QUERY)).toEqual(columns)
  expect((await shown(QUERY, '--format', 'csv'))?.[0]).toBe('account')
  await sync('acme', 'globex')
  expect(await shown(QUERY)).toEqual(['account', ...columns])
  expect(await shown(QUERY, '--survey', 'globex/2')).toEqual(columns)
  expect(await shown(QUERY, '--survey', '2')).toEqual(['account', ...columns])
})

test.concurrent('80 columns have room for long names of accounts, and for the currency of a cost', async (context) => {
  const name = 'A source with a long name'
  const trial = await openTrial(context, [scriptedSurvey(1, { title: 'A survey with a long title' })])
  for (const source of trial.api.surveys[0]?.sources ?? []) source.name = name
  const account = accountOf(trial.api)
  const plan = join(await trial.temporary(), 'plan.csv')
  await writeFile(
    plan,
    'account,survey_id,incidence,loi_minutes,cpi,currency\nacme-research,1,50%,10,1234.5,EUR\n',
  )
  const headOf = async (query: string) =>
    (await trial.runWarm(['query', query])).stdout.split('\n')[0]?.split(/ +/)
  const sync = async (...names: readonly string[]) => {
    const accounts = names.map((one, place) => account(one, place))
    expect(
      await trial.runWarm(['sync', ...(await trial.settings({ accounts, plan }))], NO_ACCOUNT),
    ).toMatchObject({
      code: 0,
    })
  }
  await sync('acme-research')
  expect(await headOf('as-sold')).toEqual(
    expect.arrayContaining(['title', 'sold', 'incidence', 'sold_minutes', 'minutes', 'cost', 'currency']),
  )
  await sync('acme-research', 'globex-research')
  expect(await headOf('source-quality')).toEqual(
    expect.arrayContaining(['account', 'title', 'name', 'rejected_pct', 'quota_full_pct', 'minutes']),
  )
})

test.concurrent('SQL that does more than read is refused in one line', async () => {
  const root = await trial.temporary()
  const before = await readFile(trial.published)
  const stolen = join(root, 'stolen')
  const ONE_SELECT = 'the query must be one SELECT'
  const signal = new AbortController().signal
  const env = { FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
  const settings = await loadSettings({ env, flags: {}, requireAccounts: false, signal })
  const asked = (sql: string): Promise<unknown> => {
    const print = () => Promise.reject(new Error(`${sql} has printed`))
    return askTables({ ...NO_CONTEXT, env, signal, print, tell: print, endNow: () => undefined }, settings, {
      input: sql,
      format: 'csv',
      out: null,
    })
  }
  const refused = [
    ['DELETE FROM surveys', ONE_SELECT],
    [`COPY surveys TO '${stolen}'`, ONE_SELECT],
    ["FROM read_csv('/etc/passwd')", 'the table function read_csv'],
    ["FROM '/etc/passwd.csv'", 'file system operations are disabled'],
    ['SELEC 1', 'syntax error at or near "SELEC" (line 1, column 1)'],
    ['SELECT $days', 'the query uses $days: give it by --days'],
    ['CREATE TABLE x (i INT)', ONE_SELECT],
    ['CREATE TEMP TABLE x AS FROM surveys', ONE_SELECT],
    ['INSERT INTO surveys FROM surveys', ONE_SELECT],
    ['UPDATE surveys SET title = NULL', ONE_SELECT],
    ['DROP VIEW survey_overview', ONE_SELECT],
    [`EXPLAIN ANALYZE COPY surveys TO '${stolen}'`, ONE_SELECT],
    [`ATTACH '${stolen}'`, ONE_SELECT],
    [`EXPORT DATABASE '${stolen}'`, ONE_SELECT],
    ['SET threads = 4', ONE_SELECT],
    ['PRAGMA version', ONE_SELECT],
    ['CALL pragma_version()', ONE_SELECT],
    ['INSTALL httpfs', ONE_SELECT],
    ['LOAD httpfs', ONE_SELECT],
    ['FORCE CHECKPOINT', ONE_SELECT],
    ['SELECT 1; DROP TABLE surveys', ONE_SELECT],
    ['SELECT 1) ; DROP TABLE surveys; --', 'syntax error at or near ")" (line 1, column 9)'],
    ["SELECT (SELECT content FROM READ_TEXT('/etc/passwd'))", 'the table function read_text'],
    [`WITH x AS (FROM read_parquet('${stolen}')) FROM x`, 'the table function read_parquet'],
    ["FROM glob('/*')", 'the table function glob'],
    [`FROM query('FROM enable_profiling(save_location = ''${stolen}'')')`, 'the table function query'],
    [
      `FROM enable_logging(storage = 'file', storage_path = '${stolen}')`,
      'the table function enable_logging',
    ],
    ["SELECT getenv('HOME')", 'getenv does not exist'],
    ['', 'the query is empty'],
    ['SELECT id,\n titel FROM surveys', '(line 2, at "titel FROM surveys")'],
    ['SELECT title::INT FROM surveys', 'Could not convert string'],
    ['SELECT id FROM surveys WHERE status = fieldwork', "; a text needs single quotes: 'fieldwork'"],
    ['SELECT $other', 'the query uses $other. Only $survey, $account and $days can be given'],
  ] as const
  for (const [sql, says] of some<(typeof refused)[number]>(refused, 6)) {
    const error = await asked(sql).catch((thrown: unknown) => thrown)
    expect(error, sql).toMatchObject({ exitCode: 2, message: expect.stringMatching(/^[^\n]+$/) })
    expect(String(error)).toContain(says)
  }
  expect(await readdir(root)).toEqual([])
  expect(before.equals(await readFile(trial.published))).toBe(true)
})

test.concurrent('a wrong name, value or file is refused in one line', async () => {
  const root = await trial.temporary()
  const refused = [
    [['DROP TABLE surveys'], 'the query must be one SELECT'],
    [['surveys'], 'there is no query surveys. To read the table or view, write "FROM surveys"'],
    [['forcast'], 'there is no query forcast: did you mean forecast? fieldwork-sync query --list shows all'],
    [['last-runs', '--survey', '1'], 'last-runs has no surveys: leave out --survey'],
    [['forecast', '--days', '1'], 'forecast has no days: leave out --days'],
    [['SELECT 1', '--survey', '1'], 'the SQL does not use $survey: leave out --survey'],
    [['pace-by-day', '--days', '0'], '--days 0 is not a whole number'],
    [
      ['pace-by-day', '--survey', 'a'],
      '--survey must be the id of a survey, such as 4711 or acme/4711, not "a"',
    ],
    [['forecast', '--survey', "x' OR 1=1 --/2"], " has no survey x' OR 1=1 --/2: there is default/2"],
    [['SELECT', '1'], 'a text with blanks needs quotes'],
    [
      ['SELECT 1', '--out', join(root, 'x.duckdb')],
      'must end in one of .txt, .md, .csv, .json, .parquet, .xlsx',
    ],
    [['SELECT 1', '--out', join(root, 'x.csv'), '--format', 'json'], '--format json and --out'],
    [['SELECT 1', '--format', 'xlsx'], 'needs a file: --out rows.xlsx'],
    [['SELECT 1', '--warehouse', root], 'nothing has been published there yet'],
    [[], 'query needs SQL, or the name of a query'],
  ] as const
  for (const [args, says] of some<(typeof refused)[number]>(refused, 4)) {
    const ended = await trial.runWarm(['query', ...args])
    expect(ended, args.join(' ')).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr.trimEnd().split('\n'), args.join(' ')).toHaveLength(1)
    expect(ended.stderr).toContain(says)
  }
  expect(await readdir(root)).toEqual([])
})

test.concurrent('a query that fails after its first rows says why, and leaves no file', async () => {
  const root = await trial.temporary()
  // A recursion gives its first rows before it begins with the next ones, here a list of `length` numbers.
  const late = (length: number) => `WITH RECURSIVE t AS (
    SELECT i FROM range(1000000) r(i) UNION ALL
    SELECT len(list(j)) AS i FROM t, range(${length}) r(j) WHERE i = 1 GROUP BY i
  ) SELECT i FROM t`
  const failing = [
    [late(100_000_000), / needs more than (?:32MB of memory after its first rows|384MB of memory)/],
    [
      `SELECT i, CASE WHEN i < 900000 THEN 1 ELSE CAST('x' AS INT) END FROM range(1000000) r(i)`,
      /'x' to INT32/,
    ],
  ] as const
  for (const [sql, says] of failing)
    for (const out of [[], ['--out', join(root, 'x.csv')]]) {
      const ended = await trial.runWarm(['query', sql, ...(out.length === 0 ? ['--format', 'csv'] : out)])
      expect(ended.code, ended.stderr).toBe(2)
      expect(ended.stdout === '').toBe(out.length > 0)
      expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1)
      expect(ended.stderr).toMatch(says)
      expect(await readdir(root)).toEqual([])
    }
  expect((await rowsOf(`${late(10_000_000)} ORDER BY i`, '--format', 'csv')).slice(-10)).toBe('\n10000000\n')
})

test.concurrent('a file is replaced as a whole, in the format of its name, and nothing is left beside it', async () => {
  const root = await trial.temporary()
  const SQL = 'SELECT id, title, updated_at, _extra FROM surveys ORDER BY id'
  const write = (name: string, ...args: string[]) => rowsOf(SQL, '--out', join(root, name), ...args)
  await writeFile(join(root, 'rows.csv'), 'an earlier one')
  expect(await write('rows.csv')).toMatch(/^3 rows written to \S+rows\.csv \(\d.* B\)\n$/)
  const onStdout = await rowsOf(SQL, '--format', 'csv')
  expect(await readFile(join(root, 'rows.csv'), 'utf8')).toBe(onStdout.replaceAll(/(_extra|Z,)\n/g, '$1\r\n'))
  await write('new/rows.json')
  expect(await readFile(join(root, 'new/rows.json'), 'utf8')).toBe(await rowsOf(SQL, '--json'))
  await write('rows.parquet')
  expect(
    await query(
      ':memory:',
      `SELECT id, title, typeof(updated_at) AS at FROM '${root}/rows.parquet' WHERE id = 1`,
    ),
  ).toEqual([{ id: 1, title: HOSTILE, at: 'TIMESTAMP WITH TIME ZONE' }])
  await rowsOf('pace-by-day', '--survey', '2', '--out', join(root, 'named.parquet'))
  expect(await query(':memory:', `SELECT survey_id FROM '${root}/named.parquet'`)).toEqual([{ survey_id: 2 }])
  await write('rows.xlsx')
  const { sheets } = await readXlsx(await readFile(join(root, 'rows.xlsx')))
  expect(sheets[0]?.rows[0]).toEqual(['id', 'title', 'updated_at', '_extra'])
  expect(sheets[0]?.autoFilter).toMatchObject({ range: 'A1:D4' })
  expect(sheets[0]?.rows[1]?.[1]).toBe(HOSTILE)
  expect(sheets[0]?.rows[1]?.[2]).toBeInstanceOf(Date)
  expect((await readdir(root)).sort()).toEqual([
    'named.parquet',
    'new',
    'rows.csv',
    'rows.parquet',
    'rows.xlsx',
  ])
  // A file that cannot be written, or whose query fails, leaves the earlier one.
  const kept = await readFile(join(root, 'rows.csv'))
  expect(
    await trial.runWarm(['query', 'SELECT title::INT FROM surveys', '--out', join(root, 'rows.csv')]),
  ).toMatchObject({ code: 2 })
  expect(kept.equals(await readFile(join(root, 'rows.csv')))).toBe(true)
  for (const name of some(['rows.csv/x.csv', 'rows.csv/x.parquet'], 1)) {
    const ended = await trial.runWarm(['query', SQL, '--out', join(root, name)])
    expect(ended).toMatchObject({ code: 7, stdout: '' })
    expect(ended.stderr).toContain(`cannot write ${join(root, name)}`)
  }
  await mkdir(join(root, 'directory.csv'))
  expect(await trial.runWarm(['query', SQL, '--out', join(root, 'directory.csv')])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is not a file'),
  })
})

test.concurrent('Parquet holds long integers and intervals exactly, also inside of lists, and refuses longer integers', async () => {
  const out = join(await trial.temporary(), 'exact.parquet')
  const LONG_INTEGER = '9007199254740993'
  await rowsOf(
    `SELECT sum(${LONG_INTEGER}::BIGINT) AS sum, ${LONG_INTEGER}::UHUGEINT AS unsigned, INTERVAL '1 second 1 microsecond' AS lasted,
      [{'HUGEINT': ${LONG_INTEGER}::HUGEINT}] AS list, 'HUGEINT'::ENUM('HUGEINT') AS kind, 'INTERVAL' AS text`,
    ...['--out', out],
  )
  const file = `FROM '${out}' t`
  expect(await query(':memory:', `SELECT t::VARCHAR AS row, typeof(t) AS type ${file}`)).toEqual([
    {
      row: `{'sum': ${LONG_INTEGER}, 'unsigned': ${LONG_INTEGER}, 'lasted': '00:00:01.000001', 'list': [{'HUGEINT': ${LONG_INTEGER}}], 'kind': HUGEINT, 'text': INTERVAL}`,
      type: 'STRUCT(sum DECIMAL(38,0), unsigned DECIMAL(38,0), lasted VARCHAR, list STRUCT(HUGEINT DECIMAL(38,0))[], kind VARCHAR, "text" VARCHAR)',
    },
  ])
  const longer = await trial.runWarm(['query', `SELECT 1${'0'.repeat(38)}::HUGEINT AS m`, '--out', out])
  expect(longer.code, longer.stderr).toBe(2)
  expect(longer.stderr).toContain(`Could not cast value 1${'0'.repeat(38)} to DECIMAL(38,0)`)
})

test.concurrent('an error of writing names the file or the temporary directory that was written', async () => {
  const root = await trial.temporary()
  const temporary = await trial.temporary()
  /** A shell limits the size of files, in blocks of 512 bytes. */
  const ask = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    spawnSync('sh', ['-c', 'ulimit -f 2000; exec "$0" "$@"', process.execPath, MAIN, 'query', ...args], {
      env: { PATH: process.env.PATH, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse, ...env },
      encoding: 'utf8',
    })
  for (const name of some(['rows.csv', 'rows.xlsx', 'rows.parquet'], 2)) {
    const out = join(root, name)
    const ended = ask(['SELECT md5(range::VARCHAR) AS text FROM range(200000)', '--out', out])
    expect(ended.status).toBe(7)
    expect(ended.stderr).toMatch(
      new RegExp(`^fieldwork-sync: cannot write ${out}: .*(?:EFBIG|File too large)`),
    )
    expect(ended.stderr).toContain('run the command again')
  }
  const sorted = (rows: number) => [
    `SELECT repeat(md5(range::VARCHAR), 4) AS text FROM range(${rows}) ORDER BY text`,
    ...['--out', join(root, 'sorted.csv')],
  ]
  for (const TMPDIR of [temporary, join(temporary, 'missing')]) {
    const ended = ask(sorted(3_000_000), { TMPDIR })
    expect(ended.status).toBe(7)
    expect(ended.stderr).toMatch(
      new RegExp(`^fieldwork-sync: cannot write temporary files into ${TMPDIR}: .* by TMPDIR\n`),
    )
    expect(await readdir(root)).toEqual([])
  }
  // What fits into the memory of a sync needs no disk.
  const fits = await trial.run(['query', ...sorted(200_000)], { TMPDIR: join(temporary, 'missing') })
  expect(fits).toMatchObject({ code: 0, stderr: '' })
})

test.concurrent('a signal ends it without a file', async () => {
  const temporary = await trial.temporary()
  const env = { PATH: process.env.PATH, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse, TMPDIR: temporary }
  // It spills, and has no rows before the end.
  const sorted = [`SELECT md5(range::VARCHAR) AS text FROM range(20000000) ORDER BY text`, false] as const
  for (const [sql, arrived] of some([[LONG, true] as const, sorted], 1)) {
    const running = spawn(process.execPath, [MAIN, 'query', sql, '--format', 'csv'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.stdout.resume()
    let stderr = ''
    running.stderr.on('data', (text) => {
      stderr += text
    })
    if (arrived) await once(running.stdout, 'data')
    else while ((await readdir(temporary, { recursive: true })).length < 2) await delay(20)
    running.kill('SIGTERM')
    expect(await once(running, 'close')).toEqual([3, null])
    expect(withEndLine(stderr).stderr).toBe('fieldwork-sync: stopped by SIGTERM\n')
    expect(await readdir(temporary)).toEqual([])
  }
})
