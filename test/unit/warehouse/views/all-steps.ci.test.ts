/** The SQL of a view can be read and run in pieces: a person pastes it up to a step, and selects from that step. */
import { expect, test } from 'vitest'
import { schemaAsMarkdown } from '../../../../src/commands/schema.js'
import { ALL_VIEWS } from '../../../../src/warehouse/views/all.js'
import { RULES, reasonSql } from '../../../../src/warehouse/views/needs-action-rules.js'
import { SOURCE_PLANS_STEPS, SURVEY_PLANS_STEP } from '../../../../src/warehouse/views/plan.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

/** Its steps are for views of sources. */
const SOURCE_PLANS = {
  name: 'source_plans',
  sql: `WITH ${SURVEY_PLANS_STEP},\n${SOURCE_PLANS_STEPS}\nFROM source_plans`,
}

/** A step begins a line with `name AS (`, and ends with a line that begins with `)`. */
const stepsOf = (sql: string) =>
  [...sql.matchAll(/^(?:WITH )?(\w+) AS (?:(?:NOT )?MATERIALIZED )?\(\n[\s\S]*?\n\)/gm)].map(
    ({ 0: text, 1: name = '', index }) => ({ name, upToHere: sql.slice(0, index + text.length) }),
  )

test('each step of each view runs by itself, after those above it', async () => {
  const { rows, run } = await testWarehouse()
  // To optimize a statement takes longer than to run it on no rows.
  await run('PRAGMA disable_optimizer')
  const counts: Record<string, number> = {}
  /** `surveys_today` begins with the steps of `needs_action`. */
  const ran = new Set<string>()
  for (const { name: view, sql } of [...ALL_VIEWS, SOURCE_PLANS]) {
    const steps = stepsOf(sql)
    counts[view] = steps.length
    for (const { name, upToHere } of steps) {
      if (ran.has(upToHere)) continue
      ran.add(upToHere)
      expect(await rows(`${upToHere}\nSELECT count(*) AS rows FROM ${name}`), `${view}, ${name}`).toEqual([
        // The levels have their defaults.
        { rows: name === 'levels' ? 1 : 0 },
      ])
    }
  }
  expect(counts).toMatchObject({
    survey_pace: 71,
    sample_source_pace: 39,
    source_overview: 8,
    needs_action: 22,
    source_plans: 6,
  })
})

/** How often a query of the view `name` evaluates the view `read`, also through other views. */
const timesRead = (name: string, read: string): number => {
  if (name === read) return 1
  const sql = ALL_VIEWS.find((view) => view.name === name)?.sql ?? ''
  return [...sql.matchAll(/\bmain\.(\w+)/g)].reduce((sum, [, used = '']) => sum + timesRead(used, read), 0)
}

test('a query of a view evaluates the pace of surveys, and that of sources, at most once', () => {
  for (const { name } of ALL_VIEWS)
    for (const read of ['survey_pace', 'sample_source_pace'])
      expect(timesRead(name, read), `${name} reads ${read}`).toBeLessThanOrEqual(1)
  expect(timesRead('surveys_today', 'survey_pace')).toBe(1)
})

test('no view has a WITH within another, with which DuckDB 1.4 needs 500 MB to open a file', () => {
  for (const { name, sql } of ALL_VIEWS)
    expect([...sql.matchAll(/\bWITH\b/g)].length, name).toBeLessThanOrEqual(1)
})

test('each rule of needs_action is an expression of its own, and the page of tables names its kind', () => {
  const sql = ALL_VIEWS.find(({ name }) => name === 'needs_action')?.sql ?? ''
  const page = schemaAsMarkdown()
  for (const rule of RULES) {
    expect(sql).toContain(reasonSql(rule))
    expect(page).toMatch(new RegExp(`The reason: .*\\b${rule.kind}\\b`))
  }
})
