/** What both test files of alerts use. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { DIRECTORY } from './declared.js'

const read = (name: string): unknown => parse(readFileSync(`${DIRECTORY}${name}`, 'utf8'))

export const rule = z.object({
  alert: z.string(),
  expr: z.string(),
  labels: z.object({ severity: z.enum(['critical', 'warning', 'info']) }),
  annotations: z.object({ summary: z.string(), runbook_url: z.string() }),
})
export const rules = z
  .object({ groups: z.array(z.object({ rules: z.array(rule) })) })
  .parse(read('alerts.yaml'))
  .groups.flatMap(({ rules: ofGroup }) => ofGroup)

const ruleTest = z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })
export const tests = z
  .object({ tests: z.array(z.object({ alert_rule_test: z.array(ruleTest) })) })
  .parse(read('alerts.test.yaml'))
  .tests.flatMap(({ alert_rule_test: ofTest }) => ofTest)
