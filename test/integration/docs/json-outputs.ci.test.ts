/**
 * What the built command prints with `--json`, and every example of docs/reference/json.md, is valid by the published JSON Schemas. They allow
 * no field that they do not name, so a new field fails here until it is documented.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { scriptedSurvey } from '../../support/api/scripted-api.js'
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
