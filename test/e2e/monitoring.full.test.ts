/**
 * What a run reports to machines: its metrics in a file and to a Pushgateway, and requests at its start and end. The cases of
 * the full suite are also in test/unit/monitoring, without the command.
 */
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusing, scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial, stopWith } from '../support/command/trial.js'
import { startReceiver } from '../support/servers/receiver.js'
import { expectNoSecret, metricsIn, notifyOf, openMonitored, PATHS } from './monitoring-shared.js'

test.concurrent('a failed run and a replay keep what is known of the last complete run', async (context) => {
  const { trial, receiver, file, settings } = await openMonitored(context)
  await trial.runWarm(['sync', ...settings])
  const before = await metricsIn(file)
  trial.api.hook = refusing(trial.api, 401)
  receiver.received.length = 0
  const refused = await trial.runWarm(['sync', '--json', ...settings])
  expect(refused.code).toBe(4)
  expectNoSecret(refused)
  expect([...receiver.lines()].sort()).toEqual(
    [PATHS.webhook, PATHS.failure, PATHS.start].map((path) => `POST ${path}`),
  )
  const failure = receiver.received.find(({ path }) => path === PATHS.failure)
  expect(failure?.body).toMatch(
    /: failed \(exit 4\) after [^\n]*\ndefault: failed; .*refused the credentials \(401\)/,
  )
  const after = await metricsIn(file)
  expect(after.get('run_exit_code{command="sync"}')).toBe(4)
  expect(after.get('account_exit_code{account="default"}')).toBe(4)
  const complete = 'last_complete_run_timestamp_seconds{account="default"}'
  expect(after.get(complete)).toBe(before.get(complete))
  receiver.received.length = 0
  expect(await trial.runWarm(['replay', ...settings])).toMatchObject({ code: 0 })
  expect(receiver.lines()).toContain(`POST ${PATHS.success}`)
  const replayed = await metricsIn(file)
  expect(replayed.get('run_exit_code{command="replay"}')).toBe(0)
  expect(replayed.get('run_exit_code{command="sync"}')).toBe(4)
  expect(replayed.get(complete)).toBe(before.get(complete))
})

test.concurrent('a service that dies during the run is a failure', async (context) => {
  const limits = { attempts: 1, consecutive_failures_max: 1, patience: '0s' }
  const { trial, receiver, settings } = await openMonitored(context, 2, { limits })
  trial.api.hook = ({ number }, response) => {
    if (number < 2) return false
    response.destroy()
    return true
  }
  const ended = await trial.runWarm(['sync', ...settings])
  expect(ended.code).toBe(4)
  expect(receiver.lines()).toContain(`POST ${PATHS.failure}`)
  expect(receiver.lines()).not.toContain(`POST ${PATHS.success}`)
})

test.concurrent('a run whose publish fails reports that, and what is committed', async (context) => {
  const { trial, receiver, file, settings } = await openMonitored(context)
  await trial.run(['sync'])
  await rm(trial.published)
  await mkdir(join(trial.published, 'in-the-way'), { recursive: true })
  expect(await trial.run(['sync', ...settings])).toMatchObject({ code: 7 })
  const failure = receiver.received.find(({ path }) => path === PATHS.failure)
  expect(failure?.body).toMatch(/: failed \(exit 7\) after .*\nnot published: /)
  const metrics = await metricsIn(file)
  expect(metrics.get('account_exit_code{account="default"}')).toBe(7)
  expect(metrics.get('table_rows{account="default",table="surveys"}')).toBe(1)
})

test.concurrent('a run whose warehouse is held reports that and keeps the metrics', async (context) => {
  const { trial, receiver, file, settings } = await openMonitored(context)
  await trial.runWarm(['sync', ...settings])
  trial.api.hook = () => true
  const arrived = trial.api.arrived(() => true)
  const holding = trial.start(['sync'])
  await arrived
  receiver.received.length = 0
  const held = await trial.runWarm(['sync', '--json', ...settings])
  expect(held.code).toBe(6)
  expect([...receiver.lines()].sort()).toEqual(
    [PATHS.webhook, PATHS.failure, PATHS.start].map((path) => `POST ${path}`),
  )
  const failure = receiver.received.find(({ path }) => path === PATHS.failure)
  expect(failure?.body).toMatch(/: failed \(exit 6\) after .*\n.* is held by/)
  const metrics = await metricsIn(file)
  expect(metrics.get('run_exit_code{command="sync"}')).toBe(6)
  expect(metrics.get('account_exit_code{account="default"}')).toBe(0)
  await stopWith(holding, 'SIGTERM')
})

test.concurrent('addresses come from files and variables; each shard writes its file', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const receiver = await startReceiver(context.onTestFinished)
  const directory = await trial.temporary()
  await mkdir(join(directory, 'secrets'))
  const successFile = join(directory, 'secrets', 'success')
  await writeFile(successFile, `${receiver.url}${PATHS.success}\n`)
  await chmod(successFile, 0o400)
  const settings = await trial.settings({
    metrics: { file: join(directory, 'fieldwork_sync.prom') },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the settings file replaces it
    notify: { success_file: successFile, webhook: '${WEBHOOK}' },
  })
  const env = { WEBHOOK: `${receiver.url}${PATHS.webhook}` }
  const ended = await trial.run(['sync', '--shard', '0/1', ...settings], env)
  expect(ended.code).toBe(0)
  expect([...receiver.lines()].sort()).toEqual([`POST ${PATHS.webhook}`, `POST ${PATHS.success}`])
  const metrics = await readFile(join(directory, 'fieldwork_sync.shard-0-of-1.prom'), 'utf8')
  expect(metrics).toContain(`warehouse="${trial.warehouse}/shard=0-of-1"`)
})

test.concurrent('a run that a signal stops reports that and ends, even if nobody answers', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
  const receiver = await startReceiver(context.onTestFinished)
  receiver.answer = () => undefined
  const file = join(await trial.temporary(), 'fieldwork_sync.prom')
  const pushgateway = receiver.url
  const settings = await trial.settings({ metrics: { file, pushgateway }, notify: notifyOf(receiver) })
  trial.api.hook = ({ path }) => path === '/surveys/2/fieldwork_progress'
  const arrived = trial.api.arrived(({ path }) => path === '/surveys/2/fieldwork_progress')
  const running = trial.start(['sync', ...settings])
  await arrived
  const ended = await stopWith(running, 'SIGTERM')
  expect(ended).toMatchObject({ code: 3, signal: null })
  expectNoSecret(ended)
  expect(ended.stderr).toMatch(/notify.success was not delivered: 127\.0\.0\.1:\d+ did not answer in time/)
  expect(ended.stderr).toMatch(/notify.webhook was not delivered/)
  expect(ended.stderr).toMatch(/metrics.pushgateway was not delivered/)
  expect((await metricsIn(file)).get('run_status{command="sync",status="partial"}')).toBe(1)
})
