/**
 * What the built command prints with `--json`, and every example of docs/reference/json.md, is valid by the published JSON Schemas. They allow
 * no field that they do not name, so a new field fails here until it is documented.
 */

import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { refusing, scriptedSurvey } from '../../support/api/scripted-api.js'
import { openTrial } from '../../support/command/trial.js'
import { startReceiver } from '../../support/servers/receiver.js'
import { JSON_DOCUMENTS } from './json-documents.js'
import { FOLDER, problemsOf, runJson, schemaOf } from './json-outputs-shared.js'

const objectsIn = (part: unknown, path: string): readonly string[] => {
  if (typeof part !== 'object' || part === null) return []
  const below = Object.entries(part).flatMap(([key, value]) => objectsIn(value, `${path}/${key}`))
  const isOpen =
    'properties' in part &&
    'type' in part &&
    !('additionalProperties' in part && part.additionalProperties === false)
  return isOpen ? [path, ...below] : below
}

describe.each(JSON_DOCUMENTS)('docs/reference/json.md', ({ name }) => {
  test(`the schema ${name} closes every object`, () => {
    expect(objectsIn(schemaOf(name), '')).toEqual([])
    expect(problemsOf(name, { surprise: 1 })).toContainEqual(expect.stringContaining('additional properties'))
  })

  test(`${name} has an example that is valid`, () => {
    const [, section = ''] = readFileSync(`${FOLDER}json.md`, 'utf8').split(`(json/${name}.schema.json)`)
    const [, example = ''] = /```json\n([\s\S]*?)```/.exec(section) ?? []
    expect(problemsOf(name, JSON.parse(example))).toEqual([])
  })
})

describe.concurrent('what the built command prints is valid', () => {
  test('before the first sync: no plan yet, and nothing published', async (context) => {
    const trial = await openTrial(context, [scriptedSurvey(1)])
    const { json } = await runJson(trial, 'plan')
    expect(json).toMatchObject({ accounts: [{ requests: null, expected_at: null }] })
    for (const args of [
      'status',
      'status --survey 1',
      'status --requests',
      `export --format csv --out ${await trial.temporary()}`,
      'replay',
    ]) {
      const { ended, json: error } = await runJson(trial, args, [], { name: 'error' })
      expect(error).toMatchObject({ error: { exit_code: ended.code } })
      expect(ended.code).toBe(2)
    }
  })

  test('a complete run with days, and the commands that read it', async (context) => {
    const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
    const settings = await trial.settings({
      publish: { formats: ['duckdb', 'parquet'], views: [] },
      refresh: { daily_windows: { days: 2 } },
    })
    const { json } = await runJson(trial, 'sync', settings)
    expect(json).toMatchObject({
      status: 'complete',
      accounts: [{ rows_by_table: { survey_progress_by_day: {} } }],
      published: [{ format: 'duckdb' }, { format: 'parquet' }],
    })
    await runJson(trial, 'check', settings)
    // A finding quotes both values, and a value of the API may hold the token.
    const token = String(trial.api.env.FIELDWORK_SYNC_API_TOKEN)
    for (const { survey } of trial.api.surveys) survey.title = `leaked ${token}`
    const { ended: verified } = await runJson(trial, 'verify', settings)
    expect(verified).toMatchObject({ code: 5, stdout: expect.stringContaining('leaked [redacted]') })
    expect(`${verified.stdout}${verified.stderr}`).not.toContain(token)
    for (const { survey } of trial.api.surveys) survey.title = `Survey ${survey.id}`
    await runJson(trial, 'verify --local', settings)
    await runJson(trial, 'status', settings)
    const { json: usage } = await runJson(trial, 'status --requests', [], { name: 'status-requests' })
    expect(usage).toMatchObject({ runs: [{ request_usage: expect.arrayContaining([]) }] })
    const { json: plan } = await runJson(trial, 'plan --max-requests 4 --max-duration 5m')
    expect(plan).toMatchObject({ max_requests: 4, accounts: [{ fits: {} }] })
    const out = `${await trial.temporary()}/out`
    const files = await runJson(trial, 'export --format parquet --tables surveys,_sync.runs', ['--out', out])
    expect(files.json).toMatchObject({ tables: [{ table: 'surveys' }, { table: '_sync.runs' }] })
  })

  test('failed runs: refused credentials, a refused survey, a 429 within the cap', async (context) => {
    const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
    trial.api.hook = refusing(trial.api, 422, ({ path }) => path.startsWith('/surveys/2/'))
    const { json: partial } = await runJson(trial, 'sync')
    expect(partial).toMatchObject({
      exit_code: 3,
      accounts: [{ failing: 1, failing_surveys: [{ survey_id: 2 }] }],
    })
    const { json: status } = await runJson(trial, 'status')
    expect(status).toMatchObject({ failing: [{ survey_id: 2 }] })
    const { json: survey } = await runJson(trial, 'status --survey 2', [], { name: 'status-survey' })
    expect(survey).toMatchObject({ surveys: [{ queue: { refusals: 1 }, why: [{ cause: 'failed' }] }] })
    const next = trial.api.arrivals.length + 1
    trial.api.hook = refusing(trial.api, 429, ({ number }) => number === next)
    const { json: paced } = await runJson(trial, 'sync --full')
    expect(paced).toMatchObject({ accounts: [{ rate_limited: 1, pace_interval_ms: expect.any(Number) }] })
    trial.api.hook = refusing(trial.api, 401)
    const { json: failed } = await runJson(trial, 'sync')
    expect(failed).toMatchObject({ status: 'failed', exit_code: 4 })
    const { json: check } = await runJson(trial, 'check')
    const file = join(await trial.temporary(), 'settings.yaml')
    await writeFile(`${file}.token`, trial.api.env.FIELDWORK_SYNC_API_TOKEN ?? '')
    const init = `init --base-url ${trial.api.baseUrl} --id 4711 --token-file ${file}.token --out ${file}`
    await runJson(trial, init)
    await runJson(trial, `${init} --force --no-check`)
    expect(check).toMatchObject({
      exit_code: 4,
      checks: expect.arrayContaining([expect.objectContaining({ ok: false })]),
    })
    const { json: error } = await runJson(trial, 'conformance', [], { name: 'error' })
    expect(error).toMatchObject({ error: { code: 'credentials_refused', exit_code: 4 } })
  })

  test('a run that cannot publish all, and command lines that are wrong', async (context) => {
    const trial = await openTrial(context, [scriptedSurvey(1)])
    await mkdir(join(trial.warehouse, 'parquet/current'), { recursive: true })
    await writeFile(join(trial.warehouse, 'parquet/current/mine'), 'mine')
    const { ended, json } = await runJson(trial, 'sync --publish duckdb,parquet')
    expect(ended.code).toBe(7)
    expect(json).toMatchObject({ exit_code: 7, published: [{}], publish_error: expect.any(String) })
    const { json: invalid } = await runJson(trial, 'sync --max-requests some', [], { name: 'error' })
    expect(invalid).toMatchObject({ error: { code: 'settings_invalid' } })
    const { json: usage } = await runJson(trial, 'sync --max-request 3', [], { name: 'error' })
    expect(usage).toMatchObject({ error: { code: 'usage', exit_code: 2 } })
  })

  test('the list of queries', async (context) => {
    const { json } = await runJson(await openTrial(context), 'query --list', [], { name: 'query-list' })
    expect(json).toMatchObject({
      queries: expect.arrayContaining([
        { name: 'last-runs', describe: expect.any(String), sql: expect.stringMatching(/;$/) },
      ]),
    })
  })

  test('schema', async (context) => {
    const trial = await openTrial(context)
    const { stdout } = await trial.runWarm(['schema', '--json'])
    expect(problemsOf('schema', JSON.parse(stdout))).toEqual([])
  })

  test('conformance, with rules that are broken and not observable', async (context) => {
    // The scripted API answers without credentials and ignores most parameters.
    const trial = await openTrial(context, [scriptedSurvey(1)])
    const { json } = await runJson(trial, 'conformance --max-requests 20')
    const verdicts = (json as { rules: readonly { verdict: string }[] }).rules.map(({ verdict }) => verdict)
    expect(new Set(verdicts)).toEqual(new Set(['pass', 'fail', 'not_observable']))
  })
})

test('a replay that cannot type the rows, and what a webhook gets of runs and of wrong settings', async (context) => {
  const [unreadable, unread] = [scriptedSurvey(1, { respondent_questions_count: '12' }), scriptedSurvey(2)]
  Object.assign(unread.progress, { sample_size: '300' })
  const trial = await openTrial(context, [unreadable, unread])
  const receiver = await startReceiver(context.onTestFinished)
  const notify = { webhook: receiver.url }
  const settings = await trial.settings({ notify })
  const sync = await runJson(trial, 'sync', settings)
  const replay = await runJson(trial, 'replay', settings)
  expect([sync.ended.code, replay.ended.code]).toEqual([5, 5])
  expect(replay.json).toMatchObject({ accounts: [{ replayed: { merged: 0, queued: 0, waiting: 4 } }] })
  await trial.runWarm(['replay', ...(await trial.settings({ notify, publish: ['none'] }))])
  const documents = receiver.received.map(({ body }) => JSON.parse(body))
  expect(documents).toMatchObject([
    { command: 'sync', exit_code: 5, report: sync.json, error: null },
    { command: 'replay', exit_code: 5, report: replay.json, error: null },
    { command: 'replay', exit_code: 2, report: null, error: { code: 'settings_invalid' } },
  ])
  for (const document of documents) expect(problemsOf('webhook', document)).toEqual([])
})
