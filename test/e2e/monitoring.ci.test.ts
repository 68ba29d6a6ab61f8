/**
 * What a run reports to machines: its metrics in a file and to a Pushgateway, and requests at its start and end. The cases of
 * the full suite are also in test/unit/monitoring, without the command.
 */
import { readdir, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { refusing, scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { readEvent } from '../support/monitoring/openlineage.js'
import { startReceiver } from '../support/servers/receiver.js'
import { some } from '../support/suite/cases.js'
import { query } from '../support/warehouse/duckdb.js'
import { expectNoSecret, metricsIn, notifyOf, openMonitored, PATHS, samplesIn } from './monitoring-shared.js'

test.concurrent('a complete sync requests start and success, posts its report, and writes its metrics', async (context) => {
  const { trial, receiver, file, settings } = await openMonitored(context, 2)
  const ended = await trial.runWarm(['sync', '--json', '--log-level', 'debug', ...settings])
  expect(ended.code).toBe(0)
  expectNoSecret(ended)
  const [start, ...ends] = receiver.received
  expect(start).toMatchObject({ method: 'POST', path: PATHS.start })
  expect(start?.body).toMatch(/^fieldwork-sync sync started \(version \S+\) on \S+\n$/)
  expect(ends.map(({ path }) => path).sort()).toEqual([PATHS.webhook, PATHS.success])
  const success = ends.find(({ path }) => path === PATHS.success)
  expect(success?.headers['user-agent']).toMatch(/^fieldwork-sync\/\d/)
  const [head, account] = success?.body.split('\n') ?? []
  expect(head).toMatch(new RegExp(`^fieldwork-sync sync on ${hostname()}: complete \\(exit 0\\) after `))
  expect(account).toBe('default: complete; 2 surveys refreshed, 9 requests, nothing left over')
  const webhook = ends.find(({ path }) => path === PATHS.webhook)
  expect(webhook?.headers['content-type']).toBe('application/json')
  const document = JSON.parse(webhook?.body ?? '')
  expect(document).toMatchObject({
    command: 'sync',
    host: hostname(),
    exit_code: 0,
    status: 'complete',
    error: null,
  })
  expect(document.report).toEqual(JSON.parse(ended.stdout))
  const metrics = await metricsIn(file)
  expect(metrics.get('run_exit_code{command="sync"}')).toBe(0)
  expect(metrics.get('run_status{command="sync",status="complete"}')).toBe(1)
  expect(metrics.get('run_status{command="sync",status="failed"}')).toBe(0)
  expect(metrics.get('requests{account="default",kind="surveys"}')).toBe(1)
  expect(metrics.get('rows{account="default",table="surveys",change="added"}')).toBe(2)
  expect(metrics.get('table_rows{account="default",table="survey_progress"}')).toBe(2)
  expect(metrics.get('left_over_surveys{account="default"}')).toBe(0)
  expect(metrics.get('published_bytes{command="sync",format="duckdb"}')).toBeGreaterThan(0)
  const [run] = document.report.accounts
  expect(metrics.get('last_complete_run_timestamp_seconds{account="default"}')).toBe(
    Date.parse(run.ended_at) / 1_000,
  )
  expect((await stat(file)).mode & 0o777).toBe(0o644)
  expect(await readdir(join(file, '..'))).toEqual(['fieldwork_sync.prom'])
})

const UNREAD = [
  ['the progress of one survey', /^\/surveys\/1\/fieldwork_progress/, 422],
  ['the sources of all surveys', /sample_sources/, 404],
  ['the progress of all surveys', /fieldwork_progress/, 500],
] as const

test.concurrent.for(some(UNREAD, 1))(
  'success is not requested after a run that could not read %s',
  async ([, path, status], context) => {
    const { trial, receiver, settings } = await openMonitored(context, 3, { limits: { attempts: 1 } })
    trial.api.hook = refusing(trial.api, status, (arrival) => path.test(arrival.path))
    expect(await trial.runWarm(['sync', ...settings])).toMatchObject({
      code: expect.toSatisfy((code) => code > 0),
    })
    const pings = receiver.lines().filter((line) => line.includes('/ping/'))
    expect([...pings].sort()).toEqual([PATHS.failure, PATHS.start].map((path) => `POST ${path}`))
  },
)

test.concurrent('an OpenLineage endpoint gets the start and the end of a run, with its token', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const receiver = await startReceiver(context.onTestFinished)
  const openlineage = { url: `${receiver.url}/api/v1/lineage`, token: 'lineage-token', namespace: 'research' }
  const settings = await trial.settings({ notify: { openlineage }, publish: ['duckdb', 'parquet'] })
  const ended = await trial.runWarm(['sync', '--log-level', 'debug', ...settings])
  expect(ended.code).toBe(0)
  expect(`${ended.stdout}${ended.stderr}`).not.toContain('lineage-token')
  for (const { headers, body } of receiver.received) {
    expect(headers).toMatchObject({
      authorization: 'Bearer lineage-token',
      'content-type': 'application/json',
    })
    expect(body).not.toContain('lineage-token')
  }
  const [start, end, ...more] = receiver.received.map(({ body }) => readEvent(body))
  expect([start?.eventType, end?.eventType, more]).toEqual(['START', 'COMPLETE', []])
  expect([start?.problems, end?.problems]).toEqual([[], []])
  const job = { namespace: 'research', name: `sync ${trial.warehouse}` }
  expect([start?.job, end?.job]).toEqual([job, job])
  expect(end?.run.runId).toBe(start?.run.runId)
  const columns = await query(
    trial.published,
    `SELECT table_name AS name, count(*)::INT AS columns FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal GROUP BY ALL ORDER BY ALL`,
  )
  const inDatabase = end?.outputs.flatMap(({ name, facets }) => {
    const [database, , table] = name.split('.')
    return database === 'fieldwork' ? [{ name: table, columns: facets.schema?.fields }] : []
  })
  expect(
    inDatabase
      ?.map((one) => ({ ...one, columns: Array.isArray(one.columns) ? one.columns.length : 0 }))
      .toSorted((a, b) => String(a.name).localeCompare(String(b.name))),
  ).toEqual(columns.toSorted((a, b) => String(a.name).localeCompare(String(b.name))))
  for (const { namespace, name } of end?.outputs ?? [])
    if (namespace === 'file') expect(await readdir(name)).not.toEqual([])
  expect(end?.outputs.find(({ name }) => name === 'fieldwork.main.surveys')?.outputFacets).toMatchObject({
    outputStatistics: { rowCount: 1 },
  })
})

test.concurrent('an OpenLineage endpoint that fails changes no exit code', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const receiver = await startReceiver(context.onTestFinished)
  receiver.answer = (_, response) => {
    response.writeHead(400).end('unknown producer')
  }
  const settings = await trial.settings({
    notify: { openlineage: { url: `${receiver.url}/api/v1/lineage` } },
  })
  const ended = await trial.runWarm(['sync', '--json', ...settings])
  expect(ended.code).toBe(0)
  const problems = ended.stderr.split('\n').filter((line) => line.includes('was not delivered'))
  expect(problems).toEqual([expect.stringContaining('answered 400 (response: unknown producer)')])
})

describe('wrong settings', () => {
  test.concurrent('are reported where the settings about that are right', async (context) => {
    const { trial, receiver, file, notify } = await openMonitored(context)
    const settings = await trial.settings({
      metrics: { file },
      notify: { failure: notify.failure, success: 'nowhere' },
      limits: { attempts: 0 },
    })
    const ended = await trial.runWarm(['sync', '--json', ...settings])
    expect(ended.code).toBe(2)
    expectNoSecret(ended)
    expect(receiver.lines()).toEqual([`POST ${PATHS.failure}`])
    expect(receiver.received[0]?.body).toMatch(
      /: failed \(exit 2\).*\n2 problems in the settings; .*limits.attempts/,
    )
    expect((await metricsIn(file)).get('run_exit_code{command="sync"}')).toBe(2)
  })

  test.concurrent('about reports are refused without showing an address', async (context) => {
    const trial = await openTrial(context)
    const tokenFile = join(await trial.temporary(), 'webhook')
    await writeFile(tokenFile, `ftp://hooks.example${PATHS.webhook}\n`)
    const settings = await trial.settings({
      metrics: { file: 'metrics.txt', pushgateway: `http://user:push-password@gateway.example?x` },
      notify: {
        start: `http://ping.example${PATHS.start}`,
        success: `hc-ping.example${PATHS.success}`,
        failure: [PATHS.failure],
        webhook_file: tokenFile,
      },
    })
    const ended = await trial.runWarm(['check', ...settings])
    expect(ended.code).toBe(2)
    expectNoSecret(ended)
    expect(ended.stderr).not.toContain('push-password')
    const problems = ended.stderr
      .split('\n')
      .slice(1, -1)
      .map((line) => line.replace(/^.*?:\d+: /, ''))
    expect(problems).toEqual([
      'metrics.file must end with .prom, because node-exporter reads no other files',
      'metrics.pushgateway must not contain a query (?)',
      'notify.success must be a URL, such as https://hc-ping.com/8d0f…',
      'notify.failure must be a URL, such as https://hc-ping.com/8d0f…',
      'notify.start would send a secret address over plain http to another host; use https, or set allow_insecure_http: true in the settings file',
      'notify.webhook_file names a file whose content must begin with https:// or http://',
    ])
  })
})

test.concurrent('check names the hosts of all addresses and requests none of them', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const receiver = await startReceiver(context.onTestFinished)
  const directory = await trial.temporary()
  const metrics = { file: join(directory, 'fieldwork_sync.prom'), pushgateway: receiver.url }
  const mail = { smtp: 'smtps://mail.example', from: 'a@example.com', to: 'b@example.com' }
  const digest = { chat: `${receiver.url}${PATHS.webhook}`, mail }
  const openlineage = { url: `${receiver.url}${PATHS.webhook}` }
  const good = await trial.runWarm([
    'check',
    ...(await trial.settings({ metrics, notify: { ...notifyOf(receiver), openlineage, digest } })),
  ])
  expect(good.code).toBe(0)
  expectNoSecret(good)
  const lines = good.stdout.split('\n').map((line) => line.replaceAll(/ {2,}/g, '  '))
  expect(lines.slice(1, 10)).toEqual([
    `ok  metrics.file  ${metrics.file} can be written`,
    ...[
      'metrics.pushgateway',
      ...[...Object.keys(PATHS), 'openlineage.url', 'digest.chat'].map((key) => `notify.${key}`),
    ].map((what) => `ok  ${what}  an address of ${receiver.url}; check does not request it`),
    'ok  notify.digest.mail  1 address through mail.example:465; check sends no mail',
  ])
  expect(receiver.received).toEqual([])
  const lost = { file: join(directory, 'not-there', 'a.prom') }
  const bad = await trial.runWarm(['check', '--json', ...(await trial.settings({ metrics: lost }))])
  expect(bad.code).toBe(2)
  expect(JSON.parse(bad.stdout).checks).toContainEqual({
    what: 'metrics.file',
    ok: false,
    detail: expect.stringMatching(/a\.prom cannot be written: ENOENT/),
  })
})

test.concurrent('a Pushgateway gets the state of the accounts and the last run in groups of their own', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const receiver = await startReceiver(context.onTestFinished)
  const job = 'metrics/job/nightly/instance/research'
  const pushgateway = receiver.url.replace('//', '//pusher:push-password@')
  const settings = await trial.settings({ metrics: { pushgateway: `${pushgateway}/${job}` } })
  const ended = await trial.runWarm(['sync', '--log-level', 'debug', ...settings])
  expect(ended.code).toBe(0)
  expect(`${ended.stdout}${ended.stderr}`).not.toContain('push-password')
  const group = `/${job}/warehouse@base64/${Buffer.from(trial.warehouse).toString('base64url')}`
  expect([...receiver.lines()].sort()).toEqual([`POST ${group}/command/sync`, `PUT ${group}`])
  const authorization = `Basic ${Buffer.from('pusher:push-password').toString('base64')}`
  for (const { headers } of receiver.received) expect(headers).toMatchObject({ authorization })
  const bodyOf = (method: string) => receiver.received.find((one) => one.method === method)?.body ?? ''
  expect([...samplesIn(bodyOf('POST')).keys()].every((name) => name.includes('command="sync"'))).toBe(true)
  expect([...samplesIn(bodyOf('PUT')).keys()].every((name) => name.includes('account="default"'))).toBe(true)
})
