/** The alerting rules of config/monitoring: promtool accepts them, and every rule has nights that it fires on and nights that it does not. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { rules, tests } from './alerts-shared.js'
import { DIRECTORY, unknownMetrics } from './declared.js'

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
