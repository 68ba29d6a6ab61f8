/** The Grafana dashboard of config/monitoring has the shape of one, and Prometheus accepts its expressions. */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ACCOUNT_METRICS, RUN_METRICS } from '../../../src/monitoring/metrics/metrics.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { HAS_PROMTOOL } from '../../support/servers/prometheus.js'
import { DIRECTORY, promtool, unknownMetrics } from './declared.js'

const datasource = z.strictObject({ type: z.literal('prometheus'), uid: z.literal(`$\{datasource}`) })
const gridPos = z.strictObject({
  x: z.number().int().min(0).max(23),
  y: z.number().int().min(0),
  w: z.number().int().min(1).max(24),
  h: z.number().int().min(1),
})

/** The parts of Grafana's dashboard schema that this dashboard uses. */
const dashboardSchema = z.strictObject({
  title: z.string(),
  uid: z.string().regex(/^[a-zA-Z0-9_-]{1,40}$/),
  description: z.string(),
  tags: z.array(z.string()),
  schemaVersion: z.literal(39),
  version: z.number(),
  editable: z.boolean(),
  graphTooltip: z.union([z.literal(0), z.literal(1), z.literal(2)]),
  timezone: z.enum(['browser', 'utc']),
  refresh: z.string(),
  time: z.strictObject({ from: z.string(), to: z.string() }),
  annotations: z.strictObject({ list: z.array(z.unknown()) }),
  links: z.array(z.unknown()),
  templating: z.strictObject({
    list: z.array(
      z.looseObject({
        name: z.string(),
        label: z.string(),
        type: z.enum(['datasource', 'query']),
        query: z.union([z.literal('prometheus'), z.strictObject({ query: z.string(), refId: z.string() })]),
        datasource: datasource.optional(),
      }),
    ),
  }),
  panels: z.array(
    z.looseObject({
      id: z.number().int().positive(),
      type: z.enum(['stat', 'timeseries']),
      title: z.string().min(1),
      description: z.string().min(1),
      datasource,
      gridPos,
      fieldConfig: z.strictObject({
        defaults: z.looseObject({ unit: z.enum(['s', 'none', 'bytes']) }),
        overrides: z.array(z.unknown()),
      }),
      options: z.looseObject({}),
      targets: z.array(
        z.strictObject({
          refId: z.string().regex(/^[A-Z]$/),
          datasource,
          expr: z.string(),
          legendFormat: z.string(),
          instant: z.boolean(),
          range: z.boolean(),
        }),
      ),
    }),
  ),
})

const dashboard = dashboardSchema.parse(JSON.parse(readFileSync(`${DIRECTORY}dashboard.json`, 'utf8')))
const { panels, templating } = dashboard
const targets = panels.flatMap((panel) => panel.targets)

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

test.skipIf(!HAS_PROMTOOL)('Prometheus accepts every expression', async () => {
  const rules = targets.map(({ expr }, index) => ({
    record: `panel:${index}`,
    expr: expr.replaceAll(/\$(warehouse|account)/g, '.*'),
  }))
  const file = join(await temporaryDirectory(), 'panels.yaml')
  await writeFile(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }))
  const success = expect.stringContaining(`SUCCESS: ${targets.length} rules`)
  expect(promtool('check', 'rules', file)).toEqual([success, 0])
})
