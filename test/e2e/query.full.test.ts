/** `query` shows rows of the published state in every format, fits 80 columns, and refuses whatever does more than read. */
import { execFile, spawnSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { readXlsx } from 'hucre/xlsx'
import { beforeAll, expect, test } from 'vitest'
import { StoppedError } from '../../src/base/errors.js'
import { query as askTables } from '../../src/commands/query.js'
import { loadSettings } from '../../src/settings/load-settings.js'
import { MAIN, withEndLine } from '../support/command/command.js'
import { openSynced, openTrial, type Trial } from '../support/command/trial.js'
import { atEndOfFile } from '../support/files/temporary.js'
import { openBucketTrial } from '../support/storage/bucket-trial.js'
import { LONG, NO_CONTEXT, SURVEYS } from './query-shared.js'

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

test.concurrent('SQL comes from stdin or after a comment, and a reader that leaves ends it', async () => {
  const env = { PATH: process.env.PATH, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
  const SQL = "-- a comment; with a semicolon\nSELECT ';' AS semicolon, 1 AS one; -- the end;"
  const shown = 'semicolon,one\n;,1\n'
  const piped = spawnSync(process.execPath, [MAIN, 'query', '-', '--format', 'csv'], {
    env,
    input: SQL,
    encoding: 'utf8',
  })
  expect(piped).toMatchObject({ status: 0, stdout: shown, stderr: '' })
  expect(await rowsOf('--format', 'csv', SQL)).toBe(shown)

  const head = await promisify(execFile)(
    'sh',
    ['-c', `"$0" "$1" query "$2" --format csv | head -2; exit 0`, process.execPath, MAIN, LONG],
    { env },
  )
  expect(head).toMatchObject({ stdout: expect.stringMatching(/^n,text\n0,\w+\n$/), stderr: '' })
})

test('the rows of published Parquet and of a bucket are those of the published file', async (context) => {
  const trial = await openTrial(context, SURVEYS())
  expect(await trial.runWarm(['sync', '--publish', 'duckdb,parquet'])).toMatchObject({ code: 0 })
  const parquet = await trial.settings({ publish: ['parquet'] })
  const bucket = await openBucketTrial(context, SURVEYS())
  const pod = await bucket.pod()
  expect(await bucket.runWarm(['sync'], pod)).toMatchObject({ code: 0 })
  for (const sql of ['surveys-today', 'SELECT id, title, status FROM surveys ORDER BY id']) {
    const [rows, ofParquet] = await Promise.all(
      [[], parquet].map(async (args) => (await trial.runWarm(['query', sql, '--json', ...args])).stdout),
    )
    expect(ofParquet).toBe(rows)
    expect(await bucket.runWarm(['query', sql, '--json'], pod)).toMatchObject({ code: 0, stdout: rows })
  }
  const refused = await trial.runWarm([
    'query',
    `FROM read_parquet('${trial.warehouse}/parquet/current/surveys/*/*/*')`,
    ...parquet,
  ])
  expect(refused).toMatchObject({ code: 2, stdout: '' })
})

test.concurrent('lists, long decimals, and times that JavaScript does not have keep their values', async () => {
  const root = await trial.temporary()
  const SQL = `SELECT TIMESTAMP '290000-01-01' AS far, 'infinity'::TIMESTAMPTZ AS never, '2026-01-01 00:00:00.123456789'::TIMESTAMP_NS AS fine,
    [1.5::DOUBLE, 'nan'::DOUBLE] AS rates, {'least': '-inf'::DOUBLE, 'says': 'NaN "x"'} AS range, ['2026-01-01'::DATE::TIMESTAMP] AS times,
    12345678901234567890.123456789::DECIMAL(38, 9) AS long, 12.5::DECIMAL(38, 9) AS short, 7 AS "a_x0041_"`
  const [far, fine, long] = [
    '290000-01-01T00:00:00.000000',
    '2026-01-01T00:00:00.123456789',
    '12345678901234567890.123456789',
  ]
  const json = await rowsOf(SQL, '--json')
  expect(json).toContain(`:${long},`)
  expect(JSON.parse(json)).toMatchObject([
    {
      ...{ far, never: 'infinity', fine, rates: [1.5, 'nan'], range: { least: '-inf', says: 'NaN "x"' } },
      ...{ times: ['2026-01-01 00:00:00'], short: 12.5, a_x0041_: 7 },
    },
  ])
  expect(await rowsOf(SQL, '--format', 'csv')).toContain(
    `\n${far},infinity,${fine},"[1.5,NaN]","{""least"":-Infinity,""says"":""NaN \\""x\\""""}","[""2026-01-01 00:00:00""]",${long},12.500000000,7\n`,
  )
  expect(await rowsOf(SQL, '--format', 'markdown')).toContain(String.raw`| \[1.5,NaN\] |`)
  await rowsOf(SQL, '--output', join(root, 'odd.xlsx'))
  const { sheets } = await readXlsx(await readFile(join(root, 'odd.xlsx')))
  expect(sheets[0]?.rows).toEqual([
    ['far', 'never', 'fine', 'rates', 'range', 'times', 'long', 'short', 'a_x0041_'],
    [
      ...[far, 'infinity', new Date('2026-01-01T00:00:00.123Z'), '[1.5, nan]'],
      ...[`{'least': -inf, 'says': 'NaN "x"'}`, "['2026-01-01 00:00:00']", long, 12.5, 7],
    ],
  ])
})

test.concurrent('text that is not UTF-8 is refused, and a number that JSON lacks is one', () => {
  const env = { PATH: process.env.PATH, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
  const SQL = "SELECT 'é' AS a, 1e400 AS b, '\\u' AS \"Infinity\""
  const answer = (input: Buffer) =>
    spawnSync(process.execPath, [MAIN, 'query', '-', '--format', 'csv'], { env, input, encoding: 'utf8' })
  expect(answer(Buffer.from(`\ufeff${SQL}`))).toMatchObject({
    status: 0,
    stdout: 'a,b,Infinity\né,inf,\\u\n',
  })
  for (const encoding of ['latin1', 'utf16le'] as const) {
    const { status, stdout, ...printed } = answer(Buffer.from(SQL, encoding))
    const { stderr } = withEndLine(printed.stderr)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/^fieldwork-sync: the SQL is not UTF-8 text\. .*\n$/)
  }
})

test.concurrent('a signal is seen between the rows of a table, however wide they are', async () => {
  const env = { FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
  const controller = new AbortController()
  const { signal } = controller
  const settings = await loadSettings({ env, flags: {}, requireAccounts: false, signal })
  const printed: string[] = []
  const print = (text: string) => {
    printed.push(text)
    controller.abort(new StoppedError('stopped by a signal'))
    return Promise.resolve(true)
  }
  const input = "SELECT repeat('😀', 400) || x AS wide FROM range(100_000) t(x)"
  const context = { ...NO_CONTEXT, env, signal, print, tell: print, endNow: () => undefined }
  await expect(askTables(context, settings, { input, format: 'table', out: null })).rejects.toThrow(
    'stopped by a signal',
  )
  // The head, its rule, and the rows that decide the widths.
  expect(printed.join('').trimEnd().split('\n')).toHaveLength(2 + 1_000)
})

/** With a plan that takes quadratic time, 4,000 columns take longer than a test may. */
test('a line of CSV may have thousands of cells', async () => {
  const numbers = Array.from({ length: 4_000 }, (_, nth) => nth)
  const SQL = `SELECT ${numbers.map((nth) => `'a,${nth}' AS t${nth}`).join(', ')}`
  const [, line] = (await rowsOf(SQL, '--format', 'csv')).split('\n')
  expect(line).toBe(numbers.map((nth) => `"a,${nth}"`).join(','))
})

/** One evaluation of an expression, which DuckDB does not interrupt, takes longer than a test may. */
const ENDLESS = `SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))`

test.concurrent('a query ends by --max-duration and by a signal, whatever it computes, and leaves nothing behind', async () => {
  const temporary = await trial.temporary()
  const out = join(await trial.temporary(), 'rows.csv')
  const ask = (...args: readonly string[]) => trial.start(['query', ...args], { TMPDIR: temporary })
  // Long enough for a busy machine to begin the evaluation.
  const limited = await ask(ENDLESS, '--output', out, '--max-duration', '10s').ended
  expect(limited).toMatchObject({ signal: 'SIGTERM', stdout: '' })
  expect(limited.stderr).toBe(
    'fieldwork-sync: the query was stopped after 10 s. Select less, or give it more time by --max-duration\n',
  )
  const interrupted = await ask('SELECT count(*) FROM range(1000000000000) a', '--max-duration', '1s').ended
  expect(interrupted).toMatchObject({ code: 3, stdout: '' })
  expect(interrupted.stderr).toContain('the query was stopped after 1 s')
  const running = ask(ENDLESS, '--max-duration', '0')
  while ((await readdir(temporary)).length === 0) await delay(20)
  running.child.kill('SIGINT')
  // It may come before the evaluation begins.
  const ended = await running.ended
  expect([ended.code === 3, ended.signal === 'SIGINT'], ended.stderr).toContain(true)
  expect([await readdir(temporary), await readdir(join(out, '..'))]).toEqual([[], []])
})

test.concurrent('a query that is nested too deeply is refused, and one of a hundred levels is not', async () => {
  const refusedFor = async (sql: string, ...args: readonly string[]) => {
    const ended = await trial.runWarm(['query', sql, ...args])
    expect(ended, sql.slice(0, 40)).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1)
    return ended.stderr
  }
  expect(await rowsOf(`SELECT 1${' + 1'.repeat(100)} AS n`, '--format', 'csv')).toBe('n\n101\n')
  for (const sql of [
    `SELECT 1${' + 1'.repeat(400)}`,
    `SELECT ${'list_transform([1], x -> '.repeat(200)}1${')'.repeat(200)}`,
    `SELECT * FROM ${'(SELECT * FROM '.repeat(200)}range(1)${')'.repeat(200)}`,
    `${'WITH x AS ('.repeat(200)}SELECT 1${') FROM x'.repeat(200)}`,
    `SELECT ${"{'a': ".repeat(200)}1${'}'.repeat(200)}`,
  ])
    expect(await refusedFor(sql)).toContain('nested too deeply')
  expect(await refusedFor('SELECT 1', '--max-duration', 'soon')).toContain('--max-duration soon')
})
