import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { NO_ACCOUNT, refusing, scriptedSurvey, startScriptedApi, TOKEN } from '../support/api/scripted-api.js'
import { openSynced, openTrial } from '../support/command/trial.js'
import { accountOf } from './check-and-status-shared.js'

describe('check', () => {
  test.concurrent('makes one request per account and reports the result', async (context) => {
    const trial = await openTrial(context, [scriptedSurvey(1)])
    const other = await startScriptedApi([scriptedSurvey(1), scriptedSurvey(2)], context.onTestFinished)
    const account = { id: 4711, token: TOKEN }
    const file = await trial.settings({
      accounts: [
        { ...account, name: 'north', base_url: trial.api.baseUrl },
        { ...account, name: 'south', base_url: other.baseUrl },
      ],
    })
    const ended = await trial.runWarm(['check', ...file], NO_ACCOUNT)
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^ok {6}settings +.*settings\.yaml$/),
      expect.stringMatching(/^ok {6}warehouse +.* is writable$/),
      expect.stringMatching(/^ok {6}API of north +.* shows 1 survey(; waited \d+ s for a free slot)?$/),
      expect.stringMatching(/^ok {6}API of south +.* shows 2 surveys(; waited \d+ s for a free slot)?$/),
    ])
    expect([trial.api.arrivals.length, other.arrivals.length]).toEqual([1, 1])
  })

  test.concurrent('sends no second request and does not wait after a 429', async (context) => {
    const trial = await openTrial(context)
    trial.api.hook = refusing(trial.api, 429, undefined, { 'retry-after': '600' })
    // The wait that the answer asks for is longer than the test may take.
    const ended = await trial.runWarm(['check', '--log-level', 'debug'], {
      FIELDWORK_SYNC_RATE_LIMIT: '60/60s',
    })
    expect(ended.stderr).not.toContain('will be sent again')
    expect(ended.code).toBe(4)
    expect(ended.stdout).toMatch(
      /FAILED {2}API of default .*answered 429 \(too many requests\) for account 'default' at GET/,
    )
    expect(trial.api.arrivals).toHaveLength(1)
  })
})

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** All property names in a document. */
const namesIn = (value: unknown): string[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([name, part]) => [
        ...(Array.isArray(value) ? [] : [name]),
        ...namesIn(part),
      ])

describe('status', () => {
  test.concurrent('a killed run of one account is still told after a later run of another one', async (context) => {
    const trial = await openTrial(context, [scriptedSurvey(1)])
    const other = await startScriptedApi([scriptedSurvey(1)], context.onTestFinished)
    const north = { name: 'north', id: 4711, token: TOKEN, base_url: trial.api.baseUrl }
    const accounts = [north, { ...north, name: 'south', base_url: other.baseUrl }]
    const file = await trial.settings({ accounts })
    expect(await trial.runWarm(['sync', ...file], NO_ACCOUNT)).toMatchObject({ code: 0 })
    other.hook = () => true
    const arrived = other.arrived(() => true)
    const { child, ended } = trial.start(['sync', ...file], NO_ACCOUNT)
    await arrived
    child.kill('SIGKILL')
    await ended
    const only = await trial.runWarm(['sync', '--accounts', 'north', ...file], NO_ACCOUNT)
    expect(only).toMatchObject({ code: 0 })
    expect(await trial.runWarm(['status', '--check', ...file], NO_ACCOUNT)).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(
        /^INTERRUPTED \(account south\): killed, .* the run began .* and left no end/,
      ),
    })
    other.hook = () => undefined
    expect(await trial.runWarm(['sync', ...file], NO_ACCOUNT)).toMatchObject({ code: 0 })
    expect(await trial.runWarm(['status', '--check', ...file], NO_ACCOUNT)).toMatchObject({ code: 0 })
  })

  test.concurrent('says how the last run ended, and reads the newest state, whatever lies in the place of a format', async (context) => {
    const trial = await openTrial(context, [scriptedSurvey(1)])
    const both = await trial.settings({ publish: ['duckdb', 'parquet'] })
    expect(await trial.runWarm(['sync', ...both])).toMatchObject({ code: 0 })
    const backup = join(await trial.temporary(), 'yesterday.duckdb')
    await copyFile(trial.published, backup)
    trial.api.hook = refusing(trial.api, 401)
    expect(await trial.runWarm(['sync', '--publish', 'parquet'])).toMatchObject({ code: 4 })
    const failed = { code: 4, stdout: expect.stringMatching(/^FAILED \d+ \w+ ago: the API refused the cred/) }
    const runs = ['query', '--format', 'csv', 'SELECT count(*) AS runs FROM _sync.runs']
    const parquet = { stdout: expect.stringContaining(join(trial.warehouse, 'parquet/current')) }
    for (const flags of [[], both]) {
      expect(await trial.runWarm(['status', '--check', ...flags])).toMatchObject(failed)
      expect(await trial.runWarm(['status', ...flags])).toMatchObject(parquet)
      expect(await trial.runWarm([...runs, ...flags])).toMatchObject({ code: 0, stdout: 'runs\n2\n' })
    }
    expect(await trial.runWarm(['sync', ...both])).toMatchObject({ code: 4 })
    expect(await trial.runWarm(runs)).toMatchObject({ stdout: 'runs\n3\n' })
    expect((await trial.runWarm(['status'])).stdout).toContain(trial.published)
    await rm(join(trial.warehouse, 'parquet'), { recursive: true })
    await rm(trial.published)
    await copyFile(backup, trial.published)
    expect(await trial.runWarm(['status', '--check'])).toMatchObject(failed)
  })

  test.concurrent('reports complete, partial and failed runs, as text and as JSON; --check exits as they did', async (context) => {
    const trial = await openSynced(context, [
      scriptedSurvey(1),
      scriptedSurvey(2),
      scriptedSurvey(3, { mood: 'good' }),
    ])
    const check = async (...flags: readonly string[]) => {
      const { code, stdout } = await trial.runWarm(['status', '--check', ...flags])
      return [code, stdout]
    }
    expect(await check()).toEqual([
      0,
      expect.stringMatching(/^OK: the last run was complete, 3 surveys read, \d+ \w+ ago\n$/),
    ])
    expect(await check('--max-age', '0s')).toEqual([
      3,
      expect.stringMatching(/^LATE: the last complete run ended .* ago\n$/),
    ])
    for (const wrong of [['--max-age', 'a day'], ['--requests'], ['--survey', '1']])
      expect(await check(...wrong), wrong[0]).toEqual([2, ''])
    expect(await trial.runWarm(['sync', '--max-requests', '3'])).toMatchObject({ code: 3 })
    expect(await check()).toEqual([
      3,
      expect.stringMatching(/^PARTIAL \d+ \w+ ago: stopped by --max-requests 3/),
    ])
    expect(await check('--max-age', '0s')).toEqual([
      3,
      expect.stringMatching(/^LATE: .*; the last run: stopped by/),
    ])
    trial.api.hook = refusing(trial.api, 401)
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 4 })
    const checked = await trial.runWarm(['status', '--check', '--json'])
    expect(checked.code).toBe(4)
    expect(JSON.parse(checked.stdout)).toMatchObject({ verdict: { state: 'failed', exit_code: 4 } })
    const requests = trial.api.arrivals.length
    // `status` needs no account.
    const without = { FIELDWORK_SYNC_BASE_URL: undefined, FIELDWORK_SYNC_API_TOKEN: undefined }
    const json = await trial.runWarm(['status', '--json'], without)
    expect(json).toMatchObject({ code: 0, stderr: '' })
    const status: unknown = JSON.parse(json.stdout)
    const at = '2026-03-01T00:00:00Z'
    expect(status).toMatchObject({
      published: trial.published,
      published_at: expect.stringMatching(MOMENT),
      holder: null,
      runs: [
        { status: 'failed', exit_code: 4, reason: expect.stringContaining('credentials') },
        { status: 'partial', exit_code: 3, reason: expect.stringContaining('--max-requests 3') },
        {
          status: 'complete',
          exit_code: 0,
          reason: null,
          ended_at: expect.stringMatching(MOMENT),
          left_over: 0,
        },
      ],
      cursors: [{ account: 'default', updated_since: expect.stringMatching(MOMENT) }],
      queue: [{ reason: 'active', tasks: expect.any(Number), oldest_at: expect.stringMatching(MOMENT) }],
      freshness: [{ surveys: 3, never_refreshed: 0 }],
      tables: expect.arrayContaining([{ table: 'surveys', rows: 3 }]),
      drift: [
        { resource: 'survey', path: 'mood', kind: 'unknown_field', first_seen_at: at, last_seen_at: at },
      ],
      rejections: [],
    })
    expect(namesIn(status).filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name))).toEqual([])
    const text = await trial.runWarm(['status'])
    expect(text).toMatchObject({ code: 0, stderr: '' })
    const [verdict] = text.stdout.split('\n\n')
    expect(verdict?.replaceAll(/\s+/g, ' ')).toMatch(
      /^FAILED \d+ \w+ ago: .*credentials.*check id and token of account 'default'.*; next: .* fieldwork-sync check$/,
    )
    expect(text.stdout).toMatch(/failed +4 .*partial +3 .*complete +0 /s)
    expect(text.stdout).toMatch(/survey\.mood +\(unknown_field\) +2026-03-01T00:00Z \(.* ago\) +\d\n/)
    for (const nothing of ['held by', 'rejected rows', 'by_day', 'failing'])
      expect(text.stdout).not.toContain(nothing)
    expect(trial.api.arrivals).toHaveLength(requests)
  })

  test.concurrent('--survey explains a survey of each account that has it; of an unknown one it says so in a line', async (context) => {
    const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
    const account = accountOf(trial.api)
    const file = await trial.settings({ accounts: ['acme', 'globex'].map(account) })
    expect(await trial.runWarm(['sync', ...file], NO_ACCOUNT)).toMatchObject({ code: 0 })
    const of = async (survey: string) => {
      const { code, stdout, stderr } = await trial.runWarm(['status', '--survey', survey], NO_ACCOUNT)
      return { code, heads: stdout.match(/^survey .*$/gm), stderr: stderr.split('\n')[0] }
    }
    expect(await of('1')).toMatchObject({
      code: 0,
      heads: ['survey 1 of acme: Survey 1', 'survey 1 of globex: Survey 1'],
    })
    expect(await of('globex/2')).toMatchObject({ code: 0, heads: ['survey 2 of globex: Survey 2'] })
    const unknown = { code: 2, heads: null }
    expect(await of('4711')).toMatchObject({
      ...unknown,
      stderr: expect.stringMatching(/ has no survey 4711$/),
    })
    expect(await of('acne/1')).toMatchObject({
      ...unknown,
      stderr: expect.stringMatching(/ has no survey acne\/1: there is acme\/1, globex\/1$/),
    })
    for (const wrong of ['', 'acme', 'acme/', '1.5', '-1', '99999999999999999'])
      expect(await of(wrong), wrong).toMatchObject({
        ...unknown,
        stderr: expect.stringContaining('--survey must be the id of a survey, such as 4711 or acme/4711'),
      })
  })
})
