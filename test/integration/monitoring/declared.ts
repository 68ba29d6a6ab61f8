/** The metrics that a run reports, for rules and dashboards that name them. */
import { ACCOUNT_METRICS, RUN_METRICS } from '../../../src/monitoring/metrics/metrics.js'

export const DIRECTORY = new URL('../../../config/monitoring/', import.meta.url).pathname

const DECLARED = [
  ...RUN_METRICS.map((metric) => ({ ...metric, labels: ['warehouse', 'command', ...(metric.labels ?? [])] })),
  ...ACCOUNT_METRICS.map((metric) => ({
    ...metric,
    labels: ['warehouse', 'account', ...(metric.labels ?? [])],
  })),
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
