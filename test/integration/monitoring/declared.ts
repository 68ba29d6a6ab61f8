/** The metrics that a run reports, for rules and dashboards that name them. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ACCOUNT_METRICS, RUN_METRICS } from '../../../src/monitoring/metrics/metrics.js'

export const DIRECTORY = fileURLToPath(new URL('../../../config/monitoring/', import.meta.url))

/** What promtool prints, and its exit code. */
export const promtool = (...args: readonly string[]) => {
  const { stdout, stderr, status } = spawnSync('promtool', args, { cwd: DIRECTORY, encoding: 'utf8' })
  return [stdout + stderr, status]
}

const DECLARED = [
  ...RUN_METRICS.map(({ name, labels = [] }) => ({ name, labels: ['warehouse', 'command', ...labels] })),
  ...ACCOUNT_METRICS.map(({ name, labels = [] }) => ({ name, labels: ['warehouse', 'account', ...labels] })),
]

/** The metrics of an expression that no run reports, and labels that they do not have. */
export const unknownMetrics = (expression: string): readonly string[] =>
  [...expression.matchAll(/\b(fieldwork_sync_[a-z_]+)(?:\{([^}]*)\})?/g)].flatMap(
    ([, name = '', selector = '']) => {
      const metric = DECLARED.find((one) => one.name === name)
      if (metric === undefined) return [name]
      const labels = [...selector.matchAll(/([a-z_]+)\s*[=!]/g)].map(([, label = '']) => label)
      return labels.filter((label) => !metric.labels.includes(label)).map((label) => `${name}{${label}}`)
    },
  )
