/** The alerting rules of config/monitoring: promtool accepts them, and every rule has nights that it fires on and nights that it does not. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { DIRECTORY, unknownMetrics } from './declared.js'

const read = (name: string): unknown => parse(readFileSync(`${DIRECTORY}${name}`, 'utf8'))

const rule = z.object({
  alert: z.string(),
  expr: z.string(),
  labels: z.object({ severity: z.enum(['critical', 'warning', 'info']) }),
  annotations: z.object({ summary: z.string(), runbook_url: z.string() }),
})
const rules = z
  .object({ groups: z.array(z.object({ rules: z.array(rule) })) })
  .parse(read('alerts.yaml'))
  .groups.flatMap(({ rules: ofGroup }) => ofGroup)

const ruleTest = z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })
const tests = z
  .object({ tests: z.array(z.object({ alert_rule_test: z.array(ruleTest) })) })
  .parse(read('alerts.test.yaml'))
  .tests.flatMap(({ alert_rule_test: ofTest }) => ofTest)

test('every alert leads to its section of the runbook, and every section but the last is that of an alert', () => {
  const page = readFileSync(`${DIRECTORY}../../docs/how-to/woken-up.md`, 'utf8')
  const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
  expect(sections).toEqual([...rules.map(({ alert }) => alert), 'See that it works'])
  for (const { alert, annotations } of rules)
    expect(annotations.runbook_url).toBe(`docs/how-to/woken-up.md#${alert.toLowerCase()}`)
})

test('every metric of a rule is one that a run reports', () => {
  for (const { expr } of rules) expect(unknownMetrics(expr)).toEqual([])
})

test('every rule fires on a made-up night, and is silent on others', () => {
  expect(rules.map(({ alert }) => alert)).toHaveLength(8)
  for (const { alert } of rules) {
    const own = tests.filter(({ alertname }) => alertname === alert)
    expect(own.some(({ exp_alerts }) => exp_alerts.length > 0)).toBe(true)
    expect(own.some(({ exp_alerts }) => exp_alerts.length === 0)).toBe(true)
  }
})
