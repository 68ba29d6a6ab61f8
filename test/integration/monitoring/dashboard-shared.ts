/** What both test files of dashboard use. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { DIRECTORY } from './declared.js'

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
export const { panels, templating } = dashboard
export const targets = panels.flatMap((panel) => panel.targets)
