/** Reports the metrics of a run that has ended: to the file that node-exporter's textfile collector reads, and to a Pushgateway. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { Gauge, Registry } from 'prom-client'
import { messageOf } from '../../base/errors.js'
import { Secret } from '../../base/secret.js'
import { unlessAborted } from '../../base/signals.js'
import type { AccountState, MetricsTargets, RunEnd, Target } from '../../model/monitoring.js'
import type { Delivery } from '../deliver.js'
import { ACCOUNT_METRICS, type Metric, RUN_METRICS } from './metrics.js'

/** The samples of a run: the values of the declared metrics with all their labels, and their text in Prometheus's format. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The samples about the run itself. */
export const runSamples = (warehouse: string, end: RunEnd): readonly Sample[] =>
  samplesOf(RUN_METRICS, end, { warehouse, command: end.command })

/** The samples about the accounts of the warehouse. */
export const accountSamples = (warehouse: string, accounts: readonly AccountState[]): readonly Sample[] =>
  accounts.flatMap((state) => samplesOf(ACCOUNT_METRICS, state, { warehouse, account: state.account }))

const samplesOf = <Of>(
  metrics: readonly Metric<Of>[],
  of: Of,
  common: Readonly<Record<string, string>>,
): readonly Sample[] =>
  metrics.flatMap(({ name, values }) =>
    values(of).map(({ labels = {}, value }) => ({ name, labels: { ...common, ...labels }, value })),
  )

const ACCOUNT_NAMES = new Set(ACCOUNT_METRICS.map(({ name }) => name))
const RUN_NAMES = new Set(RUN_METRICS.map(({ name }) => name))

/**
 * The samples of an earlier run that are still true, such as the last complete sync when this run could not open the warehouse. `now` has
 * the samples of this run. A Pushgateway keeps samples by the same rule.
 */
export const stillTrue = (earlier: readonly Sample[], now: readonly Sample[]): readonly Sample[] => {
  const knowsAccounts = now.some(({ name }) => ACCOUNT_NAMES.has(name))
  const [first] = now
  return earlier.filter(({ name, labels }) => {
    if (!ACCOUNT_NAMES.has(name) && !RUN_NAMES.has(name)) return false
    // With wrong settings the run may not know the name of its warehouse.
    if (ACCOUNT_NAMES.has(name) || labels.warehouse !== first?.labels.warehouse) return !knowsAccounts
    const isReplaced = now.some((sample) => sample.name === name && sample.labels.command === labels.command)
    return !isReplaced
  })
}

/** Written by prom-client, in the order of the declarations, without metrics that have no sample. */
export const exposition = async (samples: readonly Sample[]): Promise<string> => {
  const registry = new Registry()
  for (const { name, help } of [...RUN_METRICS, ...ACCOUNT_METRICS]) {
    const own = samples.filter((sample) => sample.name === name)
    if (own.length === 0) continue
    const labelNames = [...new Set(own.flatMap(({ labels }) => Object.keys(labels)))]
    const gauge = new Gauge({ name, help, labelNames, registers: [registry] })
    for (const { labels, value } of own) gauge.set(labels, value)
  }
  return await registry.metrics()
}

const SAMPLE = /^([a-z_]+)\{(.*)\} (\S+)$/s
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/gs

/** The samples of a text that `exposition` wrote. Other lines are left out. */
export const parseExposition = (text: string): readonly Sample[] =>
  text.split('\n').flatMap((line) => {
    const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? []
    const number = Number(value)
    if (name === '' || value === '' || !Number.isFinite(number)) return []
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', text = '']) => [label, unescaped(text)])
    return [{ name, labels: Object.fromEntries(pairs), value: number }]
  })

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/gs, (_, character: string) => (character === 'n' ? '\n' : character))

/**
 * Begins to write the file, and waits for it until a signal ends the wait. The deliveries do not wait for the file. `problem` resolves to
 * why the file was not written, or to null.
 */
export const reportMetrics = async (
  { file, pushgateway }: MetricsTargets,
  warehouse: string,
  end: RunEnd,
  until: AbortSignal,
) => {
  const run = runSamples(warehouse, end)
  const accounts = accountSamples(warehouse, end.accounts ?? [])
  const written = file === null ? Promise.resolve() : writeTextfile(file, [...run, ...accounts], until)
  const problem = written.then(
    () => null,
    (error: unknown) => (until.aborted ? 'its file system did not answer in time' : messageOf(error)),
  )
  const deliveries =
    pushgateway === null ? [] : await pushes(pushgateway, warehouse, end.command, run, accounts)
  return { deliveries, problem }
}

/**
 * Replaces the file by one rename, so no reader sees half of it. Samples of the previous file that are still true are kept.
 *
 * A process of its own reads and writes the file. A file system that does not answer blocks every thread that calls it for ever, and a
 * process does not end before its threads. So a run that wrote the file itself might not end with its exit code.
 *
 * Rejects with the error of the system, or with the reason of `signal`. Then the file is unchanged, and no temporary file remains.
 */
export const writeTextfile = async (
  file: string,
  samples: readonly Sample[],
  signal: AbortSignal,
): Promise<void> => {
  const writer = spawn(process.execPath, ['-e', WRITER, file], { env: {} })
  try {
    await unlessAborted(signal, writeWith(writer, samples))
  } finally {
    // Killed, because it must not write later, over newer metrics.
    writer.kill('SIGKILL')
    writer.unref()
    for (const stream of [writer.stdin, writer.stdout, writer.stderr]) stream.destroy()
  }
}

const writeWith = async (
  writer: ChildProcessWithoutNullStreams,
  samples: readonly Sample[],
): Promise<void> => {
  const ended = once(writer, 'close')
  const problem = text(writer.stderr).catch(messageOf)
  // A writer that fails reads nothing.
  writer.stdin.on('error', () => undefined)
  const earlier = await Promise.race([text(writer.stdout), ended.then(() => '')])
  const next = await exposition([...samples, ...stillTrue(parseExposition(earlier), samples)])
  writer.stdin.end(JSON.stringify(next))
  const [code] = await ended
  if (code !== 0) throw new Error((await problem) || 'the process that writes it was killed')
}

/** Prints the file, and replaces it by the JSON text on stdin. If the run was killed, the text is cut short, and therefore not JSON. */
const WRITER = `
const fs = require('node:fs')
const { basename, dirname, join } = require('node:path')
const file = process.argv[1]
// The collector reads no files without its ending.
const own = '.' + basename(file) + '.'
const temporary = join(dirname(file), own + require('node:crypto').randomUUID() + '.tmp')
try {
  const found = fs.statSync(file, { throwIfNoEntry: false })
  if (found !== undefined && !found.isFile() && !found.isDirectory()) throw new Error('it is not a regular file')
  if (found !== undefined) fs.writeFileSync(1, fs.readFileSync(file))
  fs.closeSync(1)
  const text = JSON.parse(fs.readFileSync(0, 'utf8'))
  // Killed processes have left them.
  for (const name of fs.readdirSync(dirname(file)))
    if (name.startsWith(own) && name.endsWith('.tmp')) fs.rmSync(join(dirname(file), name), { force: true })
  // node-exporter runs as another user, and the umask may take its right to read away.
  const handle = fs.openSync(temporary, 'wx')
  fs.writeFileSync(handle, text)
  fs.fchmodSync(handle, 0o644)
  fs.fsyncSync(handle)
  fs.closeSync(handle)
  fs.renameSync(temporary, file)
} catch (error) {
  fs.rmSync(temporary, { force: true })
  fs.writeFileSync(2, error.message)
  process.exitCode = 1
}`

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const JOB = '/metrics/job/fieldwork_sync'

/**
 * The requests to a Pushgateway. The samples of the accounts replace their whole group. The last run of a command has a group of its own,
 * whose metrics are replaced one by one, so that a run without a publish does not remove the metrics of the last publish. If the accounts
 * could not be read, there are no samples of them, and their group stays.
 */
const pushes = async (
  target: Target,
  warehouse: string,
  command: string,
  run: readonly Sample[],
  accounts: readonly Sample[],
): Promise<readonly Delivery[]> => {
  const group = groupOf(target, warehouse)
  const delivery = async (method: 'POST' | 'PUT', url: string, samples: readonly Sample[]) => ({
    contentType: CONTENT_TYPE,
    target: { ...target, url: new Secret(url) },
    method,
    body: await exposition(samples),
  })
  const ofRun = await delivery('POST', `${group}/command/${command}`, run)
  return accounts.length === 0 ? [ofRun] : [ofRun, await delivery('PUT', group, accounts)]
}

/** The settings may name the job and further labels. A warehouse has slashes, so its name is encoded. */
const groupOf = (target: Target, warehouse: string): string => {
  const url = new URL(target.url.reveal())
  const path = url.pathname.replace(/\/+$/, '')
  const encoded = Buffer.from(warehouse).toString('base64url')
  url.pathname = `${path.includes('/metrics/job') ? path : `${path}${JOB}`}/warehouse@base64/${encoded}`
  return url.href
}
