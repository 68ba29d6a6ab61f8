/** Metrics in Prometheus's text format: written by prom-client, and read back from a file that we wrote. */
import { Gauge, Registry } from 'prom-client'
import { ACCOUNT_METRICS, RUN_METRICS } from './metrics.js'
import type { Sample } from './samples.js'

/** In the order of the declarations, without metrics that have no sample. */
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
