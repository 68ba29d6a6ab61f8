/**
 * Each scheduler accepts its page: Airflow and Dagster also run what the page has, and Argo, GitHub Actions, systemd and cron parse it. What
 * becomes of each exit code is what the page says.
 */
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { EXIT_CODES } from '../../../src/base/errors.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { lacks } from '../../support/suite/lacks.js'
import { environmentDirectory, lacksEnvironment, runPython } from '../readers/python.js'
import { blockOf, blocksOf, writeCommand } from './pages.js'

const codes = Object.values(EXIT_CODES)
const byCode = <Outcome>(outcome: (code: number) => Outcome) =>
  Object.fromEntries(codes.map((code) => [code, outcome(code)]))
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const withCommand = async () => {
  const directory = await temporaryDirectory()
  await writeCommand(directory)
  return directory
}

describe.skipIf(lacksEnvironment('airflow'))('Airflow', () => {
  test('imports both DAGs, and skips after 3 and 6', async () => {
    const directory = await withCommand()
    const blocks = blocksOf('airflow', 'python')
    const dag = { id: 'fieldwork_sync', max_active_runs: 1, catchup: false, schedule: '0 2 * * *' }
    expect(await runPython('airflow', script('airflow_dags.py'), { directory, blocks, codes })).toEqual({
      problems: [],
      dags: [dag, dag],
      tasks: ['BashOperator', 'KubernetesPodOperator'].map((operator) => ({
        operator,
        skips: [3, 6],
        retries: 1,
      })),
      outcomes: byCode((code) => (code === 0 ? 'success' : [3, 6].includes(code) ? 'skipped' : 'failed')),
    })
  })
})

describe.skipIf(lacksEnvironment('dagster'))('Dagster', () => {
  test('loads the definitions, and materializes after 0 and 3', async () => {
    const directory = await withCommand()
    const code = blockOf('dagster', 'python')
    expect(await runPython('dagster', script('dagster_asset.py'), { directory, code, codes })).toEqual({
      schedule: ['fieldwork_nightly', '0 2 * * *', 'UTC'],
      outcomes: byCode((exit) => ({
        success: [0, 3, 6].includes(exit),
        retried: [1, 4].includes(exit),
        materialized: [0, 3].includes(exit),
      })),
    })
  })
})

describe.skipIf(lacksEnvironment('hera'))('Argo Workflows', () => {
  test('knows every field of the CronWorkflow', async () => {
    const workflow = parse(blockOf('argo-workflows', 'yaml'))
    expect(await runPython('hera', script('argo_workflow.py'), workflow)).toEqual(workflow)
  })
})

describe.skipIf(lacksEnvironment('actionlint'))('GitHub Actions', () => {
  test('actionlint finds nothing', async () => {
    const file = join(await temporaryDirectory(), 'fieldwork.yaml')
    await writeFile(file, blockOf('github-actions', 'yaml'))
    const lint = (path: string) =>
      spawnSync(`${environmentDirectory('actionlint')}/actionlint`, ['-no-color', path], { encoding: 'utf8' })
    expect(lint(file)).toMatchObject({ status: 0, stdout: '', stderr: '' })
    await writeFile(file, blockOf('github-actions', 'yaml').replace('timeout-minutes', 'timeout-hours'))
    expect(lint(file).stdout).toContain('unexpected key "timeout-hours"')
  })
})

describe.skipIf(lacks('systemd-analyze'))('systemd', () => {
  test('verifies the service and its timer', async () => {
    const directory = await temporaryDirectory()
    const [service = '', timer = ''] = blocksOf('systemd', 'ini')
    const verify = async (text: string) => {
      // The verification demands a program that is there.
      const runnable = text.replace('/usr/local/bin/fieldwork-sync', process.execPath)
      await writeFile(join(directory, 'fieldwork-sync.service'), runnable)
      await writeFile(join(directory, 'fieldwork-sync.timer'), timer)
      const units = ['service', 'timer'].map((type) => join(directory, `fieldwork-sync.${type}`))
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...units], {
        encoding: 'utf8',
      })
      const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('fieldwork-sync'))
      return { status, lines }
    }
    expect(await verify(service)).toEqual({ status: 0, lines: [] })
    const { lines } = await verify(service.replace('RestartSec', 'RestartAfter'))
    expect(lines.join('\n')).toContain('RestartAfter')
  })
})

describe.skipIf(lacksEnvironment('crontab'))('cron', () => {
  test('reads two lines of the user fieldwork', async () => {
    expect(await runPython('crontab', script('cron_table.py'), blockOf('cron', 'crontab'))).toMatchObject(
      ['0 2 * * *', '0 8 * * *'].map((at) => ({
        ...{ valid: true, at, user: 'fieldwork', command: expect.stringMatching(/^fieldwork-sync /) },
      })),
    )
  })
})
