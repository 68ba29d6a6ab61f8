/**
 * Real runs of the command, as Prometheus sees them: by a file and node-exporter, and by a Pushgateway, with the alerting rules of
 * config/monitoring.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusing, scriptedSurvey } from '../../support/api/scripted-api.js'
import { openTrial, type Trial } from '../../support/command/trial.js'
import { startNodeExporter, startPrometheus, startPushgateway } from '../../support/servers/prometheus.js'
import { lacks } from '../../support/suite/lacks.js'
import { DIRECTORY } from './declared.js'

const RULES = join(DIRECTORY, 'alerts.yaml')

/** The alerts compare the API's time with ours. */
const openTrialNow = async (...given: Parameters<typeof openTrial>): Promise<Trial> => {
  const trial = await openTrial(...given)
  trial.api.now = new Date()
  return trial
}

type Prometheus = Awaited<ReturnType<typeof startPrometheus>>

/** Waits until exactly these rules are raised. Rules that wait for minutes or hours are pending meanwhile. */
const untilRaised = async (prometheus: Prometheus, ...expected: readonly string[]): Promise<void> => {
  const raised = async () =>
    [...(await prometheus.rules())]
      .filter(([, state]) => state !== 'inactive')
      .map(([name, state]) => `${name} ${state}`)
  await expect.poll(raised).toEqual(expected)
}

test.skipIf(lacks('prometheus') || lacks('prometheus-pushgateway') || lacks('prometheus-node-exporter'))(
  'a run that writes a file is seen through node-exporter, also after a failed one',
  async (context) => {
    const trial = await openTrialNow(context, [scriptedSurvey(1), scriptedSurvey(2)])
    const directory = await trial.temporary()
    const settings = await trial.settings({ metrics: { file: join(directory, 'fieldwork_sync.prom') } })
    const exporter = await startNodeExporter(context.onTestFinished, directory)
    const prometheus = await startPrometheus(context.onTestFinished, { targets: [exporter], rules: RULES })
    await prometheus.until('node_textfile_scrape_error', ([value]) => value === 0)
    expect(await prometheus.query('fieldwork_sync_run_exit_code')).toEqual([])

    const first = await trial.run(['sync', '--json', ...settings])
    expect(first.code).toBe(0)
    const [run] = JSON.parse(first.stdout).accounts
    await prometheus.until('fieldwork_sync_run_exit_code', ([value]) => value === 0)
    expect(await prometheus.query('sum(fieldwork_sync_requests)')).toMatchObject([{ value: run.requests }])
    expect(await prometheus.query('fieldwork_sync_rows{table="surveys",change="added"}')).toMatchObject([
      { value: 2, metric: { account: 'default', warehouse: trial.warehouse } },
    ])
    await untilRaised(prometheus)

    trial.api.hook = refusing(trial.api, 401)
    expect(await trial.run(['sync', ...settings])).toMatchObject({ code: 4 })
    await prometheus.until('fieldwork_sync_run_exit_code', ([value]) => value === 4)
    await prometheus.until('ALERTS{alertname="FieldworkSyncRunFailed"}', (values) => values.length === 1)
    await untilRaised(prometheus, 'FieldworkSyncRunFailed pending')
    expect(await prometheus.query('fieldwork_sync_last_complete_run_timestamp_seconds')).toMatchObject([
      { value: Date.parse(run.ended_at) / 1_000 },
    ])
    expect(await prometheus.query('node_textfile_scrape_error')).toMatchObject([{ value: 0 }])
  },
)

test.skipIf(lacks('prometheus') || lacks('prometheus-pushgateway') || lacks('prometheus-node-exporter'))(
  'runs that push are seen through a Pushgateway, each warehouse and command beside the others',
  async (context) => {
    const pushgateway = await startPushgateway(context.onTestFinished)
    const prometheus = await startPrometheus(context.onTestFinished, { targets: [pushgateway], rules: RULES })
    const push = { metrics: { pushgateway: `http://${pushgateway}` } }
    const trial = await openTrialNow(context, [
      scriptedSurvey(1),
      scriptedSurvey(2, { respondent_questions_count: 'many' }),
    ])
    const other = await openTrialNow(context, [scriptedSurvey(3)])
    const settings = await trial.settings(push)
    const bytes = `fieldwork_sync_published_bytes{command="sync",warehouse="${trial.warehouse}"}`

    // One row cannot be typed.
    expect(await trial.run(['sync', ...settings])).toMatchObject({ code: 5 })
    expect(await other.run(['sync', ...settings])).toMatchObject({ code: 0 })
    await prometheus.until('fieldwork_sync_run_exit_code', (values) => values.length === 2)
    await prometheus.until('ALERTS{alertname="FieldworkSyncRejectedRows"}', (values) => values.length === 1)
    await untilRaised(prometheus, 'FieldworkSyncRunFailed pending', 'FieldworkSyncRejectedRows firing')
    const [rejected] = await prometheus.query('fieldwork_sync_rejected_rows > 0')
    const labels = { job: 'fieldwork_sync', account: 'default', warehouse: trial.warehouse }
    expect(rejected?.metric).toMatchObject(labels)
    expect(await prometheus.query('push_failure_time_seconds > 0')).toEqual([])

    // A replay has a group of its own.
    expect(await trial.run(['replay', ...settings])).toMatchObject({ code: 5 })
    await prometheus.until('fieldwork_sync_run_exit_code{command="replay"}', ([value]) => value === 5)
    expect(await prometheus.query('fieldwork_sync_run_exit_code{command="sync"} == 5')).toHaveLength(1)

    // The rows are right now.
    trial.api.surveys[1] = scriptedSurvey(2)
    expect(await trial.run(['sync', '--full', ...settings])).toMatchObject({ code: 0 })
    await prometheus.until('fieldwork_sync_run_exit_code{command="sync"}', (values) =>
      values.every((value) => value === 0),
    )
    await prometheus.until('ALERTS{alertname="FieldworkSyncRejectedRows"}', (values) => values.length === 0)
    const [published] = await prometheus.query(bytes)

    // A run that another process keeps from the warehouse knows nothing of the accounts, and changes nothing of them.
    const before = await prometheus.query('fieldwork_sync_last_complete_run_timestamp_seconds')
    trial.api.hook = () => true
    const arrived = trial.api.arrived(() => true)
    trial.start(['sync'])
    await arrived
    expect(await trial.run(['sync', ...settings])).toMatchObject({ code: 6 })
    await prometheus.until(
      'fieldwork_sync_run_exit_code{command="sync"} == 6',
      (values) => values.length === 1,
    )
    expect(await prometheus.query('fieldwork_sync_last_complete_run_timestamp_seconds')).toEqual(before)
    expect(await prometheus.query(bytes)).toEqual([published])
  },
)
