/** How `verify` ends: with whatever it could show until then, and with an exit code for each cause. */
import { chmod, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { refusing, scriptedProgress, scriptedSurveys, sendJson } from '../support/api/scripted-api.js'
import { lastLine, openSynced, openTrial, type Trial } from '../support/command/trial.js'
import { runWarm } from '../support/command/warm.js'
import { atEndOfFile } from '../support/files/temporary.js'
import { some } from '../support/suite/cases.js'

const surveys = () => scriptedSurveys(3, {}, 1)

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

test.each([
  { args: ['--sample', '0'], says: '--sample 0 is not a whole number from 1 to 1000000' },
  { args: ['--sample', 'all'], says: '--sample all is not a whole number' },
  { args: ['--local', '--sample', '3'], says: 'verify --local makes no request: leave out --sample' },
  { args: ['--local', '--max-requests', '3'], says: 'leave out --max-requests' },
])('$args is wrong usage', async ({ args, says }) => {
  const ended = await runWarm(['verify', ...args])
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain(says)
})

describe('after a sync', () => {
  const finished = atEndOfFile()
  let synced: Trial
  beforeAll(async () => {
    synced = await openSynced({ onTestFinished: finished }, surveys())
  })
  beforeEach(() => {
    synced.api.hook = () => false
  })

  test('it compares every row of a page, counts its requests, and sends none for a damaged Parquet file', async (context) => {
    const trial = await openTrial(context, surveys())
    const publish = { formats: ['duckdb', 'parquet'], views: ['survey_overview'] }
    expect(await trial.runWarm(['sync', ...(await trial.settings({ publish }))])).toMatchObject({ code: 0 })
    // A manifest as long as with the names of a thousand files. Nothing compares comments of tables.
    const path = join(trial.warehouse, 'parquet/current/manifest.json')
    const manifest = JSON.parse(await readFile(path, 'utf8'))
    manifest.tables[0].comment = 'x'.repeat(200_000)
    await writeFile(path, JSON.stringify(manifest))
    const requests = trial.api.arrivals.length
    const { code, json } = await verifyJson(trial, ['--sample', '1', '--seed', 'x'])
    expect(code).toBe(0)
    expect(json).toMatchObject({
      exit_code: 0,
      local: {
        states: [trial.published, join(trial.warehouse, 'parquet/current')],
        problems: [],
        notes: [],
      },
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
    const text = await trial.runWarm(['verify', '--sample', '1'])
    expect(text.stdout).toContain(
      'default: 1 of 3 surveys compared (33.3 %). If 1 of them was wrong, a sample of this size would find it with a chance of 33.3 %',
    )
    expect(lastLine(text)).toBe('verified: nothing wrong.')

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
    const trial = synced
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
    expect(refused.code).toBe(4)
    expect(refused.stdout).toContain('refused the credentials (401)')
  })

  test('a name in the file that nobody wrote is damage for every command, and no bug', async () => {
    const trial = synced
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
      problems: [{ rule: 'views_are_declared', example: 'survey_pace' }],
    })
    await change('DROP VIEW survey_overview; ALTER TABLE freshness RENAME COLUMN last_error TO last_errop')
    const report = ['report', '--out', join(trial.warehouse, 'report.html')]
    for (const args of some([['status'], report], 1))
      expect(await trial.runWarm(args)).toMatchObject({
        code: 7,
        stderr: expect.stringContaining('Run fieldwork-sync sync to publish it anew'),
      })
  })
})

test('a field that the service gives no longer is reported once, and no row is wrong for it', async (context) => {
  const trial = await openSynced(context, scriptedSurveys(3, { status: 'complete', project_id: 'P1' }, 2))
  for (const one of trial.api.surveys) {
    one.survey.project_id = null
    one.progress = { ...one.progress, incidence_rate: undefined }
  }
  const { code, json } = await verifyJson(trial)
  expect(code).toBe(0)
  expect(json.sample.accounts[0]).toMatchObject({
    dropped_fields: [
      { resource: 'survey', field: 'project_id', rows: 3 },
      // Of three surveys and their six sources.
      { resource: 'fieldwork_progress', field: 'incidence_rate', rows: 9 },
    ],
    findings: expect.arrayContaining([
      expect.objectContaining({ verdict: 'moved', why: 'the API no longer gives a field that it has' }),
    ]),
  })
  const text = await trial.runWarm(['verify'])
  expect(text.stdout.match(/in no answer any more/g)).toHaveLength(2)
  expect(text.stdout).toContain(
    'default: the API gives fieldwork_progress.incidence_rate in no answer any more; 9 rows still have a value of before, until it changes',
  )
  expect(lastLine(text)).toBe('verified: nothing wrong.')
  // One answer that has it is enough to expect it of all.
  const [first] = trial.api.surveys
  if (first !== undefined) first.progress = { ...first.progress, incidence_rate: 1 }
  expect(await verifyJson(trial)).toMatchObject({ code: 5 })
})

test('what it advises reads the wrong rows again', async (context) => {
  const trial = await openSynced(context, scriptedSurveys(3, {}, 2))
  const [first] = trial.api.surveys
  if (first === undefined) throw new Error('no survey')
  // The sum of the survey does not show it, so no night reads it for a week, however it lists.
  first.sourceProgress[101] = scriptedProgress(11)
  trial.api.hook = (arrival, response) => {
    if (!(arrival.query.get('started_before') ?? '').startsWith('1970')) return false
    sendJson(trial.api, response, 200, { fieldwork_progress: scriptedProgress(0) })
    return true
  }
  expect(await trial.runWarm(['sync', '--full'])).toMatchObject({ code: 0 })
  const wrong = await trial.runWarm(['verify'])
  expect(wrong.code, wrong.stdout).toBe(5)
  const [, advised] = /sources and progress are read again by: fieldwork-sync (.*)\n/.exec(wrong.stdout) ?? []
  expect(advised).toBe('sync --surveys 1')
  expect(await trial.runWarm(advised?.split(' ') ?? [])).toMatchObject({ code: 0 })
  expect(await trial.runWarm(['verify'])).toMatchObject({ code: 0 })
})
