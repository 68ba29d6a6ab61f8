/** How `verify` ends: with whatever it could show until then, and with an exit code for each cause. */
import { chmod, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { lastLine, openSynced, openTrial, type Trial } from '../support/command/trial.js'
import { runWarm } from '../support/command/warm.js'
import { atEndOfFile } from '../support/files/temporary.js'
import { some } from '../support/suite/cases.js'
import { surveys, verifyJson } from './verify-ends-shared.js'

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

test('a format of the settings that is missing, and a link without a target, are problems', async (context) => {
  const trial = await openTrial(context, surveys())
  const both = await trial.settings({ publish: ['duckdb', 'parquet'] })
  const [parquet, aside] = ['parquet', 'aside'].map((name) => join(trial.warehouse, name))
  if (parquet === undefined || aside === undefined) throw new Error('there are two paths')
  expect(await trial.runWarm(['sync', '--publish', 'duckdb'])).toMatchObject({ code: 0 })
  const found = async (settings: readonly string[]) => {
    const { code, stdout } = await trial.runWarm(['verify', '--local', '--json', ...settings])
    const { problems, notes } = JSON.parse(stdout).local
    return [
      code,
      problems.map(({ rule, state, example }: Record<string, string>) => [rule, state, example]),
      notes,
    ]
  }
  const current = join(parquet, 'current')
  const missing = (state: string, format: string) => [5, [['format_is_published', state, format]], []]
  const sound = [0, [], []]
  // The settings name it since the last sync.
  expect(await found(both)).toEqual(missing(current, 'parquet'))
  const { stdout } = await trial.runWarm(['verify', '--local', ...both])
  expect(stdout).toContain(`WRONG  ${current}: publish.formats names it, but it is missing: parquet`)
  expect(stdout).toContain('Run fieldwork-sync sync, which publishes it.')
  expect(await found([])).toEqual(sound)
  expect(await trial.runWarm(['sync', ...both])).toMatchObject({ code: 0 })
  expect(await found(both)).toEqual(sound)
  await rename(trial.published, aside)
  expect(await found(both)).toEqual(missing(trial.published, 'duckdb'))
  // Without the settings of this warehouse, nobody knows.
  expect(await found([])).toEqual([0, [], [expect.stringContaining(`there is no ${trial.published}`)]])
  await symlink('gone.duckdb', trial.published)
  expect(await found(both)).toEqual([5, [['state_can_be_read', trial.published, 'gone.duckdb']], []])
  await rm(trial.published)
  await rename(aside, trial.published)
  await rm(join(parquet, 'versions'), { recursive: true })
  const dangling = [5, [['state_can_be_read', current, 'versions/000001']], []]
  for (const settings of [both, []]) expect(await found(settings)).toEqual(dangling)
  await rm(parquet, { recursive: true })
  expect(await found(both)).toEqual(missing(current, 'parquet'))
})

describe('after a sync', () => {
  let synced: Trial
  beforeAll(async () => {
    synced = await openSynced({ onTestFinished: atEndOfFile }, surveys())
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

  test('a temporary directory that is missing is what it names', async () => {
    const TMPDIR = join(synced.warehouse, 'missing')
    const ended = await synced.run(['verify', '--local', '--json'], { TMPDIR })
    expect(ended.code).toBe(7)
    expect(JSON.parse(ended.stdout).error).toMatchObject({
      code: 'temporary_unwritable',
      message: expect.stringContaining(`cannot write temporary files into ${TMPDIR}: ENOENT`),
    })
  })

  test('a view or name in the file that nobody wrote is damage for every command, and no bug; views of another version ask for a sync', async () => {
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
    await change(`UPDATE _sync.runs SET version = '0.9.0'`)
    expect(await verifyJson(trial, ['--local'])).toMatchObject({
      code: 7,
      json: {
        error: {
          message: expect.stringMatching(/views of fieldwork-sync 0\.9\.0, .*Run fieldwork-sync sync once/),
        },
      },
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
