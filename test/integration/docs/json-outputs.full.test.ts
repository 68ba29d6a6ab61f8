/**
 * What the built command prints with `--json`, and every example of docs/reference/json.md, is valid by the published JSON Schemas. They allow
 * no field that they do not name, so a new field fails here until it is documented.
 */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startWorld } from '../../support/api/reference-api.js'
import { NO_ACCOUNT, refusing, scriptedSurvey, scriptedSurveys } from '../../support/api/scripted-api.js'
import { openTrial } from '../../support/command/trial.js'
import { runWarm } from '../../support/command/warm.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { problemsOf, runJson } from './json-outputs-shared.js'

describe.concurrent('what the built command prints is valid', () => {
  test('a partial run, and a plan in which surveys wait', async (context) => {
    const trial = await openTrial(context, scriptedSurveys(4))
    const { ended, json } = await runJson(trial, 'sync --max-requests 6')
    expect(ended.code).toBe(3)
    expect(json).toMatchObject({ status: 'partial', accounts: [{ reason: expect.any(String) }] })
    await runJson(trial, 'status')
    const { json: plan } = await runJson(trial, 'plan --max-requests 5')
    expect(plan).toMatchObject({ accounts: [{ fits: { oldest_since: expect.any(String) } }] })
  })

  test('two accounts with rejected rows and drift under contract: freeze', async (context) => {
    const [odd, unreadable, unread] = [scriptedSurvey(1), scriptedSurvey(2), scriptedSurvey(3)]
    Object.assign(odd.survey, { status: 'archived', mood: 'fine' })
    Object.assign(unreadable.survey, { title: 7 })
    Object.assign(unread.progress, { sample_size: 'many' })
    const trial = await openTrial(context, [odd, unreadable, unread])
    const accounts = ['acme', 'globex'].map((name, place) => ({
      name,
      base_url: trial.api.baseUrl,
      id: place + 1,
      token: 'a-token',
      rate_limit: { requests: 1000, per: '1s' },
    }))
    const settings = await trial.settings({ accounts, contract: 'freeze' })
    const { ended, json } = await runJson(trial, 'sync', settings, { env: NO_ACCOUNT })
    expect(ended.code).toBe(5)
    const [something] = [expect.anything()]
    const account = { drift: [something, something], rejections: [something, something] }
    expect(json).toMatchObject({ accounts: [account, account] })
    const { json: status } = await runJson(trial, 'status', settings, { env: NO_ACCOUNT })
    expect(status).toMatchObject({
      runs: [something, something],
      drift: { length: 4 },
      rejections: { length: 4 },
    })
  })

  test('conformance, with rules that are kept', async (context) => {
    const server = await startWorld({ seed: 12, surveys: 40, pageSize: 12 })
    context.onTestFinished(() => server.close())
    const [account] = server.accounts
    const ended = await runWarm(
      `conformance --json --log-level silent --rate-limit 60/100ms --base-url ${server.baseUrl} --id ${account?.id}`.split(
        ' ',
      ),
      {
        FIELDWORK_SYNC_API_TOKEN: account?.token,
        FIELDWORK_SYNC_WAREHOUSE: await temporaryDirectory(context.onTestFinished),
      },
    )
    expect(ended.code).toBe(0)
    const kept: unknown = JSON.parse(ended.stdout)
    expect(problemsOf('conformance', kept)).toEqual([])
  })

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
})
