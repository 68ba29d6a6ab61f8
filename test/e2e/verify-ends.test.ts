/** How `verify` ends: with whatever it could show until then, and with an exit code for each cause. */
import { chmod, readdir, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { refusing, scriptedSurvey, TOKEN } from '../support/api/scripted-api.js'
import { lastLine, openTrial, stopWith, type Trial } from '../support/command/trial.js'
import { runWarm } from '../support/command/warm.js'
import { atEndOfFile } from '../support/files/temporary.js'
import { failing } from '../support/process/failing-calls.js'
import { openBucketTrial } from '../support/storage/bucket-trial.js'
import { slow } from '../support/suite/slow.js'

const surveys = () => [1, 2, 3].map((id) => scriptedSurvey(id, {}, 1))

const verifyJson = async (trial: Trial, args: readonly string[] = [], env = {}) => {
  const ended = await trial.runWarm(['verify', '--json', ...args], env)
  return { ...ended, json: JSON.parse(ended.stdout) }
}

test('before the first sync it says that nothing is published, sends no request and creates nothing', async (context) => {
  const trial = await openTrial(context, surveys())
  expect(await verifyJson(trial)).toMatchObject({
    code: 2,
    json: { error: { code: 'nothing_published', exit_code: 2 } },
  })
  await expect(readdir(trial.warehouse)).rejects.toThrow()
  expect(trial.api.arrivals).toHaveLength(0)
})

test('wrong usage is refused', async () => {
  for (const [args, says] of [
    ['--sample 0', '--sample 0 is not a whole number from 1 to 1000000'],
    ['--sample all', '--sample all is not a whole number'],
    ['--local --sample 3', 'verify --local makes no request: leave out --sample'],
    ['--local --max-requests 3', 'leave out --max-requests'],
  ] as const)
    expect(await runWarm(['verify', ...args.split(' ')]), args).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(says),
    })
})

const finished = atEndOfFile()

describe('after a sync', () => {
  let trial: Trial
  beforeAll(async () => {
    trial = await openTrial({ onTestFinished: finished }, surveys())
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  })

  test('it compares every row of a page, counts its requests, and sends none for a damaged Parquet file', async (context) => {
    const trial = await openTrial(context, surveys())
    expect(await trial.runWarm(['sync', '--publish', 'parquet'])).toMatchObject({ code: 0 })
    const requests = trial.api.arrivals.length
    const { code, json } = await verifyJson(trial, ['--sample', '1', '--seed', 'x'])
    expect(code).toBe(0)
    expect(json).toMatchObject({
      exit_code: 0,
      local: { states: [join(trial.warehouse, 'parquet/current')], problems: [], notes: [] },
      sample: {
        seed: 'x',
        accounts: [{ account: 'default', surveys: 3, chosen: 1, compared: 1, requests: 4 }],
      },
    })
    const [account] = json.sample.accounts
    expect(account.tables).toMatchObject([
      { table: 'surveys', rows: 3, equal: 3 },
      { table: 'sample_sources', rows: 1, equal: 1 },
      { table: 'survey_progress', rows: 1, equal: 1 },
      { table: 'sample_source_progress', rows: 1, equal: 1 },
    ])
    expect(trial.api.arrivals.length - requests).toBe(4)
    const parquet = join(trial.warehouse, 'parquet/current')
    const files = await readdir(join(parquet, 'surveys'), { recursive: true })
    const damaged = join(parquet, 'surveys', String(files.find((name) => name.endsWith('.parquet'))))
    await chmod(damaged, 0o644)
    await truncate(damaged, 100)
    const before = trial.api.arrivals.length
    const ended = await verifyJson(trial)
    expect(ended, ended.stderr).toMatchObject({
      code: 5,
      json: {
        local: { problems: [{ rule: 'files_have_their_size', count: 1 }] },
        sample: { accounts: [] },
      },
    })
    expect(trial.api.arrivals).toHaveLength(before)
  })

  test('a service that is away ends it with exit 4, one that refuses the token too; the local half is printed', async () => {
    const limits = await trial.settings({ limits: { attempts: 1 } })
    const away = await trial.runWarm(['verify', ...limits], {
      FIELDWORK_SYNC_BASE_URL: 'http://127.0.0.1:1/api/v1',
    })
    expect(away.code, away.stderr).toBe(4)
    expect(away.stdout).toMatch(/fieldwork\.duckdb: \d+ checks, nothing wrong\n/)
    expect(away.stdout).toContain('ECONNREFUSED')
    expect(lastLine(away)).toBe('not verified completely (exit 4): nothing wrong so far.')
    trial.api.hook = refusing(trial.api, 401)
    const refused = await trial.runWarm(['verify', ...limits])
    trial.api.hook = () => false
    expect(refused.code).toBe(4)
    expect(refused.stdout).toContain('refused the credentials (401)')
  })

  slow('a budget decides the size of the sample, unless it is given', async () => {
    const before = trial.api.arrivals.length
    const few = await verifyJson(trial, ['--max-requests', '3'])
    expect(few).toMatchObject({
      code: 3,
      json: { sample: { accounts: [{ compared: 0, stopped: 'stopped by --max-requests 3' }] } },
    })
    expect(trial.api.arrivals.length - before).toBe(3)
    const enough = await verifyJson(trial, ['--max-requests', '8'])
    expect(enough).toMatchObject({ code: 0, json: { sample: { accounts: [{ compared: 2, requests: 8 }] } } })
    const given = await verifyJson(trial, ['--max-requests', '8', '--sample', '3'])
    expect(given).toMatchObject({ code: 3, json: { sample: { accounts: [{ compared: 2, chosen: 3 }] } } })
  })

  test('a signal ends it with exit 3, and it prints what it has compared; another process waits outside meanwhile', async () => {
    const from = trial.api.arrivals.length
    trial.api.hook = ({ number }) => number > from + 4
    const running = trial.start(['verify', '--json'])
    await trial.api.arrived(({ number }) => number > from + 4)
    const other = await trial.runWarm(['verify', '--json'])
    expect(other).toMatchObject({ code: 6 })
    expect(other.stdout).toContain('warehouse_is_held')
    const ended = await stopWith(running, 'SIGINT')
    trial.api.hook = () => false
    expect(ended.code, ended.stderr).toBe(3)
    expect(JSON.parse(ended.stdout)).toMatchObject({ exit_code: 3, sample: { accounts: [{ compared: 1 }] } })
  })

  test('a token in a value of the API is redacted', async () => {
    for (const { survey } of trial.api.surveys) survey.title = `leaked ${TOKEN}`
    const ended = await trial.runWarm(['verify'])
    expect(ended.code).toBe(5)
    expect(ended.stdout).toContain('leaked')
    expect(ended.stdout + ended.stderr).not.toContain(TOKEN)
  })

  test('a file at which DuckDB crashes is damaged, and verify survives', async ({ skip }) => {
    const crash = failing({ stop: { atCall: 5, below: trial.published, signal: 'SIGSEGV' } }, skip)
    const ended = await trial.run(['verify', '--local', '--json'], crash)
    expect(ended).toMatchObject({ code: 5, signal: null, stderr: '' })
    expect(JSON.parse(ended.stdout).local.problems).toMatchObject([
      { rule: 'state_can_be_read', example: 'DuckDB does not notice it, but reading ends by SIGSEGV' },
    ])
  })

  test('a name in the file that nobody wrote is damage for every command, and no bug', async () => {
    await chmod(trial.published, 0o644)
    const change = async (sql: string) => {
      const instance = await DuckDBInstance.create(trial.published)
      const connection = await instance.connect()
      await connection.run(sql)
      connection.closeSync()
      instance.closeSync()
    }
    await change(
      `CREATE TABLE t (x INTEGER); CREATE OR REPLACE VIEW survey_pace AS SELECT x FROM t; DROP TABLE t`,
    )
    const { code, json } = await verifyJson(trial, ['--local'])
    expect({ code, problems: json.local.problems }).toMatchObject({
      code: 5,
      problems: [{ rule: 'state_can_be_read', example: expect.stringContaining('Table with name t does') }],
    })
    await change('DROP VIEW survey_overview; ALTER TABLE freshness RENAME COLUMN last_error TO last_errop')
    for (const args of [['status'], ['report', '--out', join(trial.warehouse, 'report.html')]])
      expect(await trial.runWarm(args)).toMatchObject({
        code: 7,
        stderr: expect.stringContaining('Run fieldwork-sync sync to publish it anew'),
      })
  })
})

test('a bucket: its objects, its database and a sample are verified; damage is named', async (context) => {
  const trial = await openBucketTrial(context, surveys())
  const pod = await trial.pod()
  expect(await verifyJson(trial, [], pod)).toMatchObject({
    code: 2,
    json: { error: { code: 'nothing_published' } },
  })
  const sync = ['sync', '--publish', 'duckdb,parquet', '--log-level', 'warn']
  expect(await trial.runWarm(sync, pod)).toMatchObject({ code: 0 })
  const good = await verifyJson(trial, ['--log-level', 'warn'], await trial.pod())
  expect(good, good.stderr).toMatchObject({
    code: 0,
    json: { local: { problems: [] }, sample: { accounts: [{ compared: 3 }] } },
  })
  const database = String(trial.document('current.json').database)
  const found = trial.s3.store.objects.get(`fieldwork/${database}`)
  if (found === undefined) throw new Error(`there is no ${database}`)
  const body = Buffer.from(found.body)
  body.writeUInt8(body.readUInt8(20_000) ^ 1, 20_000)
  trial.s3.store.objects.set(`fieldwork/${database}`, { ...found, body })
  const requests = trial.api.arrivals.length
  const damaged = await verifyJson(trial, ['--log-level', 'warn'], pod)
  expect(damaged, damaged.stderr).toMatchObject({
    code: 5,
    json: {
      local: { problems: [{ rule: 'objects_are_intact', example: `${database} has another checksum` }] },
    },
  })
  expect(trial.api.arrivals.length).toBe(requests)
})
