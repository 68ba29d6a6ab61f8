/** Starts Prometheus and what it scrapes, each on a free port of loopback with its data in an empty directory. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { freePort, startProgram } from './server.js'

/** Starts a program and waits until the address answers. Returns the address. */
const startServer = async (
  finished: Finished,
  program: string,
  args: readonly string[],
  ready: string,
): Promise<string> => {
  const address = `127.0.0.1:${await freePort()}`
  const isUp = async () => (await fetch(`http://${address}${ready}`)).ok
  await startProgram(finished, program, [...args, `--web.listen-address=${address}`], isUp)
  return address
}

export const startPushgateway = async (finished: Finished): Promise<string> => {
  const file = join(await temporaryDirectory(finished), 'pushed')
  return await startServer(finished, 'prometheus-pushgateway', [`--persistence.file=${file}`], '/-/ready')
}

export const startNodeExporter = async (finished: Finished, directory: string): Promise<string> => {
  const args = [
    '--collector.disable-defaults',
    '--collector.textfile',
    `--collector.textfile.directory=${directory}`,
  ]
  return await startServer(finished, 'prometheus-node-exporter', args, '/metrics')
}

interface TestPrometheus {
  /** The series of an instant query. */
  query(
    expression: string,
  ): Promise<readonly { readonly metric: Record<string, string>; readonly value: number }[]>
  /** Resolves when the query has a result that fits. */
  until(expression: string, fits: (values: readonly number[]) => boolean): Promise<readonly number[]>
  /** The state of each alerting rule: inactive, pending or firing. */
  rules(): Promise<ReadonlyMap<string, string>>
}

/** Scrapes the targets (`host:port`) and evaluates the file of rules every quarter of a second. */
export const startPrometheus = async (
  finished: Finished,
  { targets, rules }: { readonly targets: readonly string[]; readonly rules: string },
): Promise<TestPrometheus> => {
  const directory = await temporaryDirectory(finished)
  const config = {
    global: { scrape_interval: '250ms', scrape_timeout: '250ms', evaluation_interval: '250ms' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'nightly', honor_labels: true, static_configs: [{ targets }] }],
  }
  // JSON is valid YAML.
  await writeFile(join(directory, 'prometheus.yml'), JSON.stringify(config))
  const args = [
    `--config.file=${join(directory, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
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
