/**
 * What the built command prints with `--json`, and every example of docs/reference/json.md, is valid by the published JSON Schemas. They allow
 * no field that they do not name, so a new field fails here until it is documented.
 */

import { describe, expect, test } from 'vitest'
import { startWorld } from '../../support/api/reference-api.js'
import { NO_ACCOUNT, scriptedSurvey, scriptedSurveys } from '../../support/api/scripted-api.js'
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
})
