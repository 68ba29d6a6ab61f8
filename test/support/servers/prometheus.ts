/** Starts Prometheus and what it scrapes, each on a free port of loopback with its data in an empty directory. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { freePort } from './free-port.js'

const isThere = (program: string): boolean => spawnSync(program, ['--version']).status === 0

export const HAS_PROMTOOL = isThere('promtool')
if (!HAS_PROMTOOL)
  console.warn(
    'skipped: tests that need promtool, because there is none on the PATH; its Debian package is prometheus',
  )

const SERVERS = ['prometheus', 'prometheus-pushgateway', 'prometheus-node-exporter'] as const

/** Whether there are Prometheus, its Pushgateway and its node-exporter to start. */
export const hasPrometheusServers = (): boolean => {
  const missing = SERVERS.filter((program) => !isThere(program))
  if (missing.length > 0)
    console.warn(
      `skipped: tests that need ${missing.join(', ')}, as in the Debian packages of the same names`,
    )
  return missing.length === 0
}

/** Starts a program and waits until the address answers. Returns the address. */
const startServer = async (
  finished: Finished,
  program: (typeof SERVERS)[number],
  args: (port: number) => readonly string[],
  ready: string,
): Promise<string> => {
  const port = await freePort()
  const address = `127.0.0.1:${port}`
  const child = spawn(program, args(port), { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = once(child, 'exit')
  finished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  while (!(await isReady(`http://${address}${ready}`))) {
    if (child.exitCode !== null) throw new Error(`${program} ended: ${stderr}`)
    await delay(50)
  }
  return address
}

const isReady = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )

export const startPushgateway = async (finished: Finished): Promise<string> => {
  const file = join(await temporaryDirectory(finished), 'pushed')
  const args = (port: number) => [`--web.listen-address=127.0.0.1:${port}`, `--persistence.file=${file}`]
  return await startServer(finished, 'prometheus-pushgateway', args, '/-/ready')
}

/** With the textfile collector only. */
export const startNodeExporter = async (finished: Finished, directory: string): Promise<string> => {
  const args = (port: number) => [
    `--web.listen-address=127.0.0.1:${port}`,
    '--collector.disable-defaults',
    '--collector.textfile',
    `--collector.textfile.directory=${directory}`,
  ]
  return await startServer(finished, 'prometheus-node-exporter', args, '/metrics')
}

export interface PrometheusOptions {
  /** `host:port` */
  readonly targets: readonly string[]
  readonly rules: string
}

export interface TestPrometheus {
  /** The series of an instant query. */
  query(
    expression: string,
  ): Promise<readonly { readonly metric: Record<string, string>; readonly value: number }[]>
  /** Resolves when the query has a result that fits. */
  until(expression: string, fits: (values: readonly number[]) => boolean): Promise<readonly number[]>
  /** The state of each alerting rule: inactive, pending or firing. */
  rules(): Promise<ReadonlyMap<string, string>>
}

/** Scrapes and evaluates every quarter of a second. */
export const startPrometheus = async (
  finished: Finished,
  { targets, rules }: PrometheusOptions,
): Promise<TestPrometheus> => {
  const directory = await temporaryDirectory(finished)
  const config = {
    global: { scrape_interval: '250ms', scrape_timeout: '250ms', evaluation_interval: '250ms' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'nightly', honor_labels: true, static_configs: [{ targets }] }],
  }
  // JSON is valid YAML.
  await writeFile(join(directory, 'prometheus.yml'), JSON.stringify(config))
  const args = (port: number) => [
    `--config.file=${join(directory, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const address = await startServer(finished, 'prometheus', args, '/-/ready')
  const get = async (path: string) => {
    const response = await fetch(`http://${address}/api/v1/${path}`)
    const document = await response.json()
    if (document.status !== 'success') throw new Error(JSON.stringify(document))
    return document.data
  }
  const query: TestPrometheus['query'] = async (expression) => {
    const { result } = await get(`query?query=${encodeURIComponent(expression)}`)
    return result.map(({ metric, value }: { metric: Record<string, string>; value: [number, string] }) => ({
      metric,
      value: Number(value[1]),
    }))
  }
  return {
    query,
    until: async (expression, fits) => {
      for (;;) {
        const values = (await query(expression)).map(({ value }) => value)
        if (fits(values)) return values
        await delay(100)
      }
    },
    rules: async () => {
      const { groups } = await get('rules')
      const all: { name: string; state: string }[] = groups.flatMap(
        (group: { rules: unknown }) => group.rules,
      )
      return new Map(all.map(({ name, state }) => [name, state]))
    },
  }
}
