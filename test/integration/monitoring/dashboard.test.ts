/** The Grafana dashboard of config/monitoring has the shape of one, and Prometheus accepts its expressions. */
import { expect, test } from 'vitest'
import { ACCOUNT_METRICS, RUN_METRICS } from '../../../src/monitoring/metrics/metrics.js'
import { panels, targets, templating } from './dashboard-shared.js'
import { unknownMetrics } from './declared.js'

test('panels have ids of their own and do not overlap', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
    expect(x + w).toBeLessThanOrEqual(24)
    return Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`)
  })
  expect(new Set(cells).size).toBe(cells.length)
  for (const panel of panels)
    expect(panel.targets.map(({ refId }) => refId)).toEqual(
      ['A', 'B', 'C', 'D'].slice(0, panel.targets.length),
    )
})

test('every metric and label of an expression is one that a run reports, and every legend names labels of its result', () => {
  const queries = templating.list.map(({ query }) => (typeof query === 'string' ? query : query.query))
  for (const expression of [...queries, ...targets.map(({ expr }) => expr)])
    expect(unknownMetrics(expression)).toEqual([])
  for (const { expr, legendFormat } of targets) {
    const [, kept] = /\bby \(([^)]*)\)/.exec(expr) ?? []
    for (const [, label = ''] of legendFormat.matchAll(/\{\{([a-z]+)\}\}/g))
      if (kept !== undefined) expect(kept.split(', ')).toContain(label)
  }
})

test('every variable of an expression is declared', () => {
  const declared = templating.list.map(({ name }) => name)
  for (const { expr } of targets)
    for (const [, name = ''] of expr.matchAll(/\$([a-z_]+)/g)) expect(declared).toContain(name)
})

test('it shows most of the metrics', () => {
  const shown = [...RUN_METRICS, ...ACCOUNT_METRICS].filter(({ name }) =>
    targets.some(({ expr }) => expr.includes(`${name}{`)),
  )
  expect(shown.length).toBeGreaterThan(20)
})
