/** The samples of a run: the values of the declared metrics with all their labels, and their text in Prometheus's format. */
import { Gauge, Registry } from 'prom-client'
import type { AccountState, RunEnd } from '../../model/monitoring.js'
import { ACCOUNT_METRICS, type Metric, RUN_METRICS } from './metrics.js'

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** About the run itself. */
export const runSamples = (warehouse: string, end: RunEnd): readonly Sample[] =>
  samplesOf(RUN_METRICS, end, { warehouse, command: end.command })

/** About the accounts of the warehouse. */
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
 * The samples of an earlier run that are still true, such as the last complete sync when this run could not open the warehouse. `now`
 * has the samples of this run. A Pushgateway keeps the same of what it gets.
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
